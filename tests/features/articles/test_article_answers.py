"""What answers mean for articles, in words; what robots.txt allows; and bytes that become text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.core.egress import OutgoingResponse
from foliot.features.fetching import robots
from foliot.features.fetching.answer import judge
from foliot.features.fetching.model import MOST_PAGE, NO_WORD, FetchFailure, PageUnchanged, RobotsRules
from foliot.pages.charset import decoded

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
HTML = "text/html; charset=utf-8"


def reply(status: int = 200, body: bytes = b"<html>text</html>", **headers: str) -> OutgoingResponse:
    named = {"content-type": HTML} | {name.replace("_", "-"): value for name, value in headers.items()}
    return OutgoingResponse(status=status, headers=named, body=body, truncated=False, elapsed=timedelta())


@pytest.mark.parametrize(
    ("answer", "code", "permanent", "pause"),
    [
        (reply(404), "http_404", True, None),
        (reply(410), "http_410", True, None),
        (reply(401), "http_401", True, None),
        (reply(403), "http_403", True, None),
        (reply(429, retry_after="5"), "http_429", False, 5),
        (reply(429), "http_429", False, 10),
        (reply(503, retry_after="Mon, 04 Jan 2027 12:00:30 GMT"), "http_503", False, 30),
        (reply(503, retry_after="999999999"), "http_503", False, 60),
        (reply(500), "http_500", False, None),
        (reply(408), "http_408", False, None),
        (reply(599), "http_599", False, None),
        (reply(200, content_type="application/pdf"), "not_html", True, None),
        (reply(200, content_type="image/png"), "not_html", True, None),
        (reply(200, b"  \n "), "empty_page", True, None),
        (reply(200, b"\x00\x01\x02", content_type=""), "not_html", True, None),
    ],
    ids=lambda value: str(value) if isinstance(value, str | int) else "",
)
def test_each_answer_has_its_words(answer: OutgoingResponse, code: str, permanent: bool, pause: int | None) -> None:
    found = judge(answer, NOW)

    assert isinstance(found, FetchFailure)
    assert (found.problem.code, found.permanent) == (code, permanent)
    assert found.pause == (None if pause is None else timedelta(seconds=pause))
    assert found.problem.message.endswith(".")


def test_a_page_is_read_and_one_that_is_as_it_was_is_not() -> None:
    assert judge(reply(), NOW) is None
    assert judge(reply(304, b""), NOW) == PageUnchanged()


def test_a_page_that_is_too_large_is_refused() -> None:
    whole = reply()
    for body, code in ((bytes(MOST_PAGE), "too_large"), (whole.body, "damaged")):
        cut = OutgoingResponse(status=200, headers=whole.headers, body=body, truncated=True, elapsed=timedelta())
        found = judge(cut, NOW)

        assert isinstance(found, FetchFailure)
        assert found.problem.code == code


ROBOTS = (
    "User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 2\nUser-agent: Foliot\nDisallow: /no*.html$"
)


def test_what_a_host_allows_is_kept() -> None:
    general = "User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 2.5\n"

    assert not robots.allows(general, "https://a.test/private/x")
    assert robots.allows(general, "https://a.test/private/open/x")
    assert robots.allows(None, "https://a.test/private/x")
    assert not robots.allows(ROBOTS, "https://a.test/no-1.html")
    assert robots.allows(ROBOTS, "https://a.test/private/x"), "a group for us replaces the one for everybody"
    assert robots.crawl_delay(general) == timedelta(seconds=2.5)
    assert robots.crawl_delay("User-agent: *\nCrawl-delay: 86400") == robots.LONGEST_DELAY
    assert robots.crawl_delay("") is None


@pytest.mark.parametrize("status", [404, 403, 410])
def test_a_host_without_rules_allows_everything(status: int) -> None:
    assert robots.judge_robots(reply(status), NOW) == RobotsRules("")


@pytest.mark.parametrize(("status", "after", "pause"), [(429, "7", 7), (500, "", 10), (503, "60", 60)])
def test_a_host_that_cannot_say_its_rules_is_left_alone_for_a_while(status: int, after: str, pause: int) -> None:
    found = robots.judge_robots(reply(status, retry_after=after), NOW)

    assert found == RobotsRules(NO_WORD, pause=timedelta(seconds=pause))


@pytest.mark.parametrize("delay", ["1e20", "99999999999999999", "inf"])
def test_an_absurd_delay_is_the_longest_there_is(delay: str) -> None:
    assert robots.crawl_delay(f"User-agent: *\nCrawl-delay: {delay}") in {robots.LONGEST_DELAY, None}


def test_binary_rules_forbid_nothing_and_break_nothing() -> None:
    found = robots.judge_robots(reply(200, bytes(range(256)) * 100, content_type="text/plain"), NOW)

    assert isinstance(found, RobotsRules)
    assert robots.allows(found.robots, "https://a.test/")


@pytest.mark.parametrize(
    ("text", "encoding", "header"),
    [
        ("Smörgåsbord på kvällen", "utf-8", HTML),
        ("Smörgåsbord på kvällen", "iso-8859-1", "text/html; charset=iso-8859-1"),
        ("Привет, мир, как дела", "windows-1251", "text/html; charset=windows-1251"),
        ("日本語の記事です", "shift_jis", "text/html; charset=Shift_JIS"),
        ("Smörgåsbord", "utf-16", "text/html"),
        ('<meta charset="windows-1251">Привет, мир', "windows-1251", "text/html"),
    ],
    ids=["utf-8", "latin-1", "cp1251", "sjis", "bom", "meta"],
)
def test_bytes_become_the_text_they_were(text: str, encoding: str, header: str) -> None:
    assert decoded(text.encode(encoding), header).lstrip("\ufeff") == text


def test_without_a_word_about_it_the_language_tells() -> None:
    russian = "Сегодня утром в городе прошёл сильный дождь, и многие улицы оказались под водой. " * 5

    assert decoded(russian.encode("windows-1251"), "text/html") == russian


def test_a_guess_that_python_has_no_codec_for_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cchardet.detect", lambda _: {"encoding": "VISCII", "confidence": 0.9})

    assert decoded(b"caf\xe9 " * 10, "text/html; charset=utf-8").startswith("caf\ufffd ")


def test_a_lie_about_the_charset_breaks_nothing() -> None:
    assert "\x00" not in decoded(b"abc\x00\xff\xfe" * 10, "text/html; charset=no-such-thing")
