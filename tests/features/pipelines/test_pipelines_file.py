"""The file of pipelines: what it means, what is refused, and where."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.time.fire_times import fires
from foliot.features.pipelines.chain.check import build_steps
from foliot.features.pipelines.file.mask import masked
from foliot.features.pipelines.file.parse import MAX_BYTES
from foliot.features.pipelines.file.read import PipelineFileReader
from foliot.features.pipelines.file.scalars import AmbiguousScalar, meaning
from foliot.features.pipelines.file.watch import WatchedPipelineFile
from foliot.features.pipelines.model import FileContents, FileFault, PipelineEntry
from foliot.features.pipelines.wiring import load
from foliot.testing import GivenPages, stream

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
READER = PipelineFileReader(catalogue=load(()), zone="Europe/Stockholm")
EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD = "  good:\n    chain: [{class: JsonParser}]\n"


def read(text: str | bytes, file: str = "pipelines.yml") -> FileContents:
    return READER.read(text if isinstance(text, bytes) else text.encode(), file, NOW)


def one(text: str) -> PipelineEntry:
    """The pipeline `it` of a file in which another one stands below it, unharmed."""
    sheet = read(f"pipelines:\n  it:\n{text}{GOOD}")
    assert sheet.fault is None
    it, good = sheet.pipelines
    assert good.definition is not None
    return it


def refused(text: str) -> FileFault:
    it = one(text)
    assert it.definition is None
    return it.faults[0]


# --- what it means ----------------------------------------------------------------------------------------------------


def test_the_examples_of_the_file_format_are_in_order() -> None:
    it = one(
        '    schedule:\n      cron: "0 */6 * * *"  # Every 6 hours\n    on_error: skip\n'
        "    chain:\n      - class: FeedFetcher\n        kwargs: {urls: [http://127.0.0.1/feed]}\n"
        "      - class: JsonParser\n      - class: JsonParser\n        on_error: fail\n"
        "      - class: core.infra.discord_sink.DiscordSink\n        kwargs:\n"
        "          channel_id: 123456789012345678\n"
    )

    assert it.definition is not None
    assert it.definition.draft == {"type": "cron", "cron_expr": "0 */6 * * *", "timezone": "Europe/Stockholm"}
    assert [step.name for step in it.definition.steps] == ["FeedFetcher", "JsonParser", "JsonParser-2", "DiscordSink"]
    assert [step.on_error for step in it.definition.steps] == ["skip", "skip", "fail", "skip"]
    assert [step.line for step in it.definition.steps] == [7, 9, 10, 12]
    assert it.definition.steps[3].kwargs == {"channel_id": 123456789012345678}


@pytest.mark.parametrize(
    ("interval", "drafted"),
    [
        ("{seconds: 30, minutes: 15, hours: 2}", {"interval": {"seconds": 30, "minutes": 15, "hours": 2}}),
        ("90", {"interval_seconds": 90}),
    ],
)
def test_an_interval_is_a_sum_of_parts_or_seconds(interval: str, drafted: dict[str, object]) -> None:
    it = one(f"    schedule: {{interval: {interval}}}\n    chain: [{{class: JsonParser}}]\n")

    assert it.definition is not None
    assert it.definition.draft == {"type": "interval", "timezone": "Europe/Stockholm", **drafted}


def test_the_revision_is_of_the_content_and_of_nothing_else() -> None:
    def revision(text: str) -> str:
        definition = read(text).pipelines[0].definition
        assert definition is not None
        return definition.revision

    plain = revision("pipelines:\n  it:\n    chain: [{class: JsonParser}]\n")

    assert revision("# moved\n\npipelines:\n  it:\n    chain:\n      - class: JsonParser # here\n") == plain
    assert revision("pipelines:\n  it:\n    chain: [{class: JsonParser}]\n    on_error: skip\n") != plain
    assert revision("pipelines:\n  it: {chain: [{class: JsonParser}], schedule: {interval: 60}}\n") != plain


def test_anchors_and_merges_spare_repetition() -> None:
    sheet = read(
        "x-shop: &shop {urls: [http://127.0.0.1/a]}\npipelines:\n  a:\n    chain:\n"
        "      - class: HttpFetcher\n        kwargs: {<<: *shop}\n"
        "  b:\n    chain: [{class: HttpFetcher, kwargs: *shop}]\n"
    )

    assert [one.definition.steps[0].kwargs for one in sheet.pipelines if one.definition] == [
        {"urls": ["http://127.0.0.1/a"]}
    ] * 2


def test_the_example_file_has_four_schedules_and_one_that_runs_by_hand() -> None:
    text = (EXAMPLES / "pipelines_scheduled.yml").read_bytes()
    definitions = [one.definition for one in read(text).pipelines]

    assert len(definitions) == 5
    assert [one.draft is None for one in definitions if one is not None] == [False, False, False, False, True]


async def test_every_pipeline_of_the_example_file_makes_something_of_its_pages(tmp_path: Path) -> None:
    article = (EXAMPLES.parent / "tests" / "pages" / "news-en.html").read_text()
    link = "https://shop.example.com/products/kettle"
    pages: dict[str, str | tuple[int, str]] = {
        link: "<h1>A kettle</h1><b class=price>12,50 €</b>",
        "https://shop.example.com/products/toaster": "<b class=price>9,50 €</b>",
        "https://shop.example.com/sitemap.xml": f"<urlset><url><loc>{link}</loc></url></urlset>",
        "https://shop.example.com/export/history.json": '[{"id": 1}]',
        "https://news.example.com/feed.xml": (
            "<rss version='2.0'><channel><item><title>A</title><link>/a</link></item></channel></rss>"
        ),
        "https://news.example.com/a": article,
        "https://status.example.com/api/v2/status.json": '{"status": "fine"}',
        "https://hooks.example.com/status": (202, ""),
    }
    text = (EXAMPLES / "pipelines_scheduled.yml").read_bytes()

    made = {}
    for each in read(text).pipelines:
        assert each.definition is not None
        steps = build_steps(each.definition.steps, READER.catalogue)
        made[each.name] = len((await stream(*steps, egress=GivenPages(pages), out=tmp_path)).items)

    assert made == {"market_prices": 2, "daily_articles": 1, "status_page": 1, "catalogue": 1, "import_history": 1}


def test_the_file_of_the_guide_is_in_order() -> None:
    page = (EXAMPLES.parent / "docs" / "how-to" / "pipelines.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    assert [one.definition is not None for one in read(text).pipelines] == [True] * 3
    # What it shows of a fault is what is said.
    (wrong,) = read(text.replace("*/15 9-17 * * 1-5", "61 9 * * *")).pipelines[0].faults
    assert str(wrong) in page.splitlines()


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        # The night in which 02:30 does not exist: it fires at the moment the clock jumps to.
        (datetime(2027, 3, 27, 12, tzinfo=UTC), ["2027-03-28T01:00:00+00:00", "2027-03-29T00:30:00+00:00"]),
        # The night in which 02:30 comes twice: it fires the first time only.
        (datetime(2027, 10, 30, 12, tzinfo=UTC), ["2027-10-31T00:30:00+00:00", "2027-11-01T01:30:00+00:00"]),
    ],
)
def test_next_times_are_those_of_stockholm_across_both_clock_changes(after: datetime, expected: list[str]) -> None:
    it = one('    schedule: {cron: "30 2 * * *"}\n    chain: [{class: JsonParser}]\n')
    assert it.definition is not None
    assert it.definition.draft is not None
    rule = fires(it.definition.draft["cron_expr"], it.definition.draft["timezone"])

    first = rule.after(after)
    assert first is not None
    second = rule.after(first)
    assert second is not None
    assert [first.isoformat(), second.isoformat()] == expected


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("    chain: [{class: !!python/object/apply:os.system [ls]}]\n", 3, "is a tag"),
        ("    chain:\n      - class: JsonParser\n        kwargs: !!python/name:os.getcwd {}\n", 5, "is a tag"),
        ("    chain:\n      - !mine\n        class: JsonParser\n", 4, "!mine is a tag"),
        ("    chain: [{class: os.system}]\n", 3, "is not a registered transform"),
        ("    chain: [{class: foliot.config.settings.Settings}]\n", 3, "is not a registered transform"),
        ("    chain: [{class: antigravity.Transform}]\n", 3, "is not a registered transform"),
        ("    chain: [{class: JsonParser.__init__.__globals__}]\n", 3, "is not a registered transform"),
        ("    chain:\n      - class: HttpFetcher\n        kwargs:\n          urlz: [x]\n", 6, "urlz"),
        ("    chain:\n      - class: HttpFetcher\n        kwargs:\n          urls: NO\n", 6, "NO is false to some"),
        ("    chain:\n      - class: HttpFetcher\n        kwargs:\n          urls: 1:30\n", 6, "base-60"),
        ("    on: {cron: '* * * * *'}\n    chain: [{class: JsonParser}]\n", 3, "on is true to some"),
        ("    chain: [{class: JsonParser, kwargs: {field: 0777}}]\n", 3, "different number"),
        ("    chain: [{class: JsonParser, kwargs: {field: .inf}}]\n", 3, "not a finite number"),
        ("    chain: &loop [*loop]\n", 3, "would never end"),
        ("    <<: &loop {<<: *loop}\n    chain: [{class: JsonParser}]\n", 3, "would never end"),
        ("    chain: *nothing\n", 3, "refers to nothing above it"),
        ("    chain: [{class: JsonParser}]\n    chain: [{class: JsonParser}]\n", 4, "a second time, first in line 3"),
        ("    chain: [{class: JsonParser}]\n    1: x\n", 4, "a key must be a word"),
        ("    chain: " + "[" * 40 + "]" * 40 + "\n", 3, "nested deeper"),
        ("    chain: []\n", 3, "must be a list of 1 to 100 steps"),
        ("    chain: JsonParser\n", 3, "must be a list"),
        ("    schedule: {}\n    chain: [{class: JsonParser}]\n", 3, "must have cron or interval"),
        ('    schedule: {cron: "61 * * * *"}\n    chain: [{class: JsonParser}]\n', 3, "schedule.cron"),
        ('    schedule:\n      cron: "0 0 30 2 *"\n    chain: [{class: JsonParser}]\n', 4, "never fire"),
        ("    schedule: {interval: {seconds: 0}}\n    chain: [{class: JsonParser}]\n", 3, "schedule.interval"),
        ("    schedule: {interval: {weeks: 1}}\n    chain: [{class: JsonParser}]\n", 3, "weeks"),
        ("    schedule: {interval: 5, timezone: Europe/Stokholm}\n    chain: [{class: JsonParser}]\n", 3, "time zone"),
        ("    schedul: {interval: 5}\n    chain: [{class: JsonParser}]\n", 3, "schedul is not known"),
        ("    chain: [{class: JsonParser}]\n    on_error: skp\n", 4, "must be skip or fail"),
        ("    - class: JsonParser\n", 2, "must be a mapping with chain"),
    ],
)
def test_what_is_wrong_is_refused_by_line_and_the_next_pipeline_is_read(text: str, line: int, said: str) -> None:
    one('    schedule: {cron: "0 0 * * *"}\n    chain: [{class: JsonParser}]\n')  # So that what reads is loaded.
    before = set(sys.modules)

    fault = refused(text)

    assert said in fault.message
    assert (fault.file, fault.line) == ("pipelines.yml", line)
    assert "antigravity" not in sys.modules
    # Zones are looked up, nothing else is.
    assert [name for name in set(sys.modules) - before if not name.startswith("tzdata")] == []


@pytest.mark.parametrize("last", ["f", "p"], ids=["half a million values", "more than there is room for"])
def test_an_alias_bomb_costs_nothing_but_itself(last: str) -> None:
    bomb = "x-a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for name, before in zip("bcdefghijklmnop", "abcdefghijklmno", strict=True):
        bomb += f"x-{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"

    sheet = read(f"{bomb}pipelines:\n  it:\n    chain: [{{class: JsonParser, kwargs: {{a: *{last}}}}}]\n{GOOD}")

    it, good = sheet.pipelines
    assert "every alias expanded" in it.faults[0].message
    assert (it.definition, good.definition is not None) == (None, True)


@pytest.mark.parametrize(("name", "kept"), [("2024", "2024"), ("on", "on"), ("No", "No"), ("true", "True")])
def test_a_pipeline_whose_name_is_no_word_is_refused_and_not_lost(name: str, kept: str) -> None:
    sheet = read(f"x-note: {{no: 1}}\npipelines:\n  {name}:\n    chain: [{{class: JsonParser}}]\n{GOOD}")

    assert sheet.fault is None
    it, good = sheet.pipelines
    assert (it.name, it.definition, good.definition is not None) == (kept, None, True)
    assert it.faults[0].line == 3


def test_what_is_merged_everywhere_is_not_copied_everywhere() -> None:
    large = "x-a: &a {" + ", ".join(f"k{number}: 1" for number in range(5000)) + "}\n"
    sheet = read(f"{large}x-b:\n" + "  - <<: *a\n" * 40 + f"pipelines:\n  it:\n    <<: *a\n{GOOD}")

    it, good = sheet.pipelines
    assert "every alias expanded" in it.faults[0].message
    assert (it.faults[0].line, good.definition is not None) == (45, True)


def test_pipelines_that_repeat_the_same_long_list_come_to_an_end() -> None:
    urls = "x-a: &a [" + ", ".join(f"http://127.0.0.1/{number}" for number in range(2000)) + "]\n"
    many = "".join(f"  p{number}:\n    chain: [{{class: HttpFetcher, kwargs: {{urls: *a}}}}]\n" for number in range(60))

    for broken in ("", "  it: [\n"):
        sheet = read(f"{urls}pipelines:\n{many}{broken}")
        found = [one for one in sheet.pipelines if one.definition is not None]
        assert 45 <= len(found) < 50
        assert "every alias expanded" in sheet.pipelines[59].faults[0].message
        assert sheet.pipelines[59].faults[0].line == 121


@pytest.mark.parametrize(
    ("text", "line", "said", "hint"),
    [
        ("pipelines:\n  a:\n    schedule:\n      cron: * * * * *\n", 4, "alias", 'quote it: "* * * * *"'),
        ("pipelines:\n  a:\n    schedule:\n      cron: @daily\n", 4, "cannot start", 'quote it: "@daily"'),
        ("pipelines:\n  a: {schedule: {cron: * 9 * * *, x: 1}}\n", 2, "alias", 'quote it: "* 9 * * *"'),
        ("pipelines:\n\ta: {}\n", 2, "cannot start", "spaces"),
        ("pipelines:\n  a: {chain: [}\n", 2, "flow", ""),
        ("pipelines:\n  a: 'x\n", 3, "quoted", "close the quotes"),
        ("pipelines:\n  a: b: c\n", 2, "mapping values", "quote"),
        ("pipelines: {}\n---\npipelines: {}\n", 2, "second document", ""),
        ("pipelines:\n  a: \x01\n", 2, "U+0001", ""),
        ("pipelines: {}\npipelines: {}\n", 2, "second time", ""),
        ("!!python/object/apply:os.system\npipelines: {}\n", 1, "is a tag", ""),
        ("pipelines: !!python/object:os.system\n  a: {}\n", 1, "is a tag", ""),
        (f"pipelines:\n  ? [a]\n  : {{}}\n{GOOD}", 2, "must be a word", ""),
        ("pipelines: []\n", 1, "must be a mapping", ""),
        ("pipes: {}\n", 1, "pipes is not known", "pipelines"),
        ("- a\n", 1, "must be a mapping", ""),
        ("", None, "is empty", "pipelines: {}"),
        ("# nothing\n", None, "is empty", "pipelines: {}"),
        ("x: 1\n" * MAX_BYTES, MAX_BYTES // 5 + 1, "256 KiB", ""),
        ("pipelines: {" + "a: 1, " * 30_000 + "}\n", 1, "50000 values", ""),
    ],
)
def test_a_file_that_cannot_be_read_says_where(text: str, line: int | None, said: str, hint: str) -> None:
    fault = read(text).fault

    assert fault is not None
    assert said in fault.message
    assert fault.line == line
    assert hint in (fault.suggestion or "")


def test_what_is_not_utf_8_is_refused_by_line() -> None:
    fault = read(b"pipelines:\n  a: \xff\n").fault

    assert fault is not None
    assert (fault.line, fault.message) == (2, "is not UTF-8")


def test_everything_that_is_wrong_with_a_pipeline_is_said_at_once() -> None:
    it = one('    schedule: {cron: "61 * * * *"}\n    chain:\n      - class: Jsonparser\n      - class: HtpFetcher\n')

    assert [fault.line for fault in it.faults] == [5, 6, 3]


@pytest.mark.parametrize(
    "broken",
    [
        "  it:\n    schedule:\n      cron: * * * * *\n    chain: [{class: JsonParser}]\n",
        "  it: {chain: [}\n",
        "  it:\n    chain: 'never closed\n",
        "  it:\n\tchain: []\n",
        "  it: b: c\n",
    ],
)
def test_broken_syntax_hurts_the_pipeline_it_stands_in(broken: str) -> None:
    sheet = read(f"x-a: &a [1]\npipelines:\n{GOOD}{broken}{GOOD.replace('good', 'last')}x-b: 1\n")

    assert sheet.partial
    assert {one.name: one.definition is not None for one in sheet.pipelines} == {
        "good": True,
        "it": False,
        "last": True,
    }
    it = next(one for one in sheet.pipelines if one.name == "it")
    assert it.line == 5
    assert it.faults[0].line in range(5, 9)
    assert it.faults[0].message.startswith("pipeline it: ")


def test_what_cannot_be_told_apart_is_refused_as_a_whole() -> None:
    assert read("pipelines: {a: {chain: [{class: JsonParser}]}, b: [}\n").fault is not None
    assert read(f"pipelines:\n{GOOD}{GOOD}  it: [\n").fault is not None


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_text_brings_the_reader_down(text: str | bytes) -> None:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    for whole in (raw, b"pipelines:\n  a: " + raw, b"pipelines:\n  a:\n    chain:\n      - class: " + raw):
        sheet = read(whole)
        assert sheet.fault is not None or all(one.definition or one.faults for one in sheet.pipelines)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None), ("~", None), ("null", None), ("true", True), ("False", False), ("0", 0), ("-12", -12), ("1.5", 1.5),
        ("1e3", 1000.0), ("2027-01-04", "2027-01-04"), ("09:30 daily", "09:30 daily"), ("y", "y"), ("none", "none"),
        ("-", "-"), ("+", "+"), (".", "."), ("1.2.3", "1.2.3"), ("0 9 * * 1-5", "0 9 * * 1-5"),
    ],
)  # fmt: skip
def test_a_word_without_quotes_means_what_every_reader_takes_it_for(word: str, value: object) -> None:
    assert meaning(word) == value


@pytest.mark.parametrize(
    "word", ["yes", "No", "ON", "off", "1:30", "12:30:45", "007", "0x1F", "0b1", "1_000", "9" * 25]
)
def test_a_word_that_readers_take_for_different_things_is_refused(word: str) -> None:
    with pytest.raises(AmbiguousScalar):
        meaning(word)


# --- what people may see ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        (
            "    schedule: {cron: bad}\n    chain:\n      - class: WebhookSink\n"
            "        kwargs: {url: https://127.0.0.1/in-a-path, headers: {X-Kind: in-a-header}}\n"
        ),
        "    chain:\n      - class: WebhookSink\n        url: https://127.0.0.1/in-a-wrong-place\n",
        "    chain:\n      - class: NobodyKnows\n        kwargs: {url: https://127.0.0.1/in-an-unknown-step}\n",
        "    chain: [in-a-list]\n",
        "    chains:\n      - class: WebhookSink\n        kwargs: {url: https://127.0.0.1/in-a-misspelt-chain}\n",
    ],
)
def test_a_pipeline_that_is_not_in_order_shows_no_secret_either(broken: str) -> None:
    it = one(broken)

    assert it.faults
    assert "in-a" not in it.yaml
    assert "***" in it.yaml


@pytest.mark.parametrize("value", ["@in-a-value", "*in-a-value", "0777", "1:30", "@in-a-value # so", "no"])
def test_no_complaint_repeats_what_is_secret_by_its_name(value: str) -> None:
    bare = value.partition(" #")[0]
    for place in (f"token: {value}", f"{{x: 1, password: {value}" + ("}" if "#" not in value else "\n}")):
        sheet = read(
            f"pipelines:\n{GOOD}  it:\n    chain:\n      - class: JsonParser\n        kwargs:\n          {place}\n"
        )
        told = [str(fault) for one in sheet.pipelines for fault in one.faults]
        assert told
        assert not any(re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", each.partition("it: ")[2]) for each in told), told


def test_its_part_of_the_file_is_shown_without_secrets() -> None:
    it = one(
        "    # password: in-a-comment\n    chain:\n      - class: HttpFetcher # stays\n        kwargs:\n"
        "          urls: ['http://ada:in-a-url@127.0.0.1/a?token=in-a-query&x=1']\n"
        "          headers:\n            Authorization: |\n              in-a\n              block\n"
        "            X-Kind: {secret: by-name}\n"
        "      - class: MongoSink\n        kwargs: {uri: 'mongodb://ada:in-a-uri@127.0.0.1/', collection: c}\n"
        "  # about the next\n"
    )

    assert "in-a" not in it.yaml
    assert it.yaml.startswith("it:\n")
    assert "class: HttpFetcher # stays" in it.yaml
    assert "{secret: by-name}" in it.yaml
    assert "x=1" in it.yaml
    assert "about the next" not in it.yaml
    assert "in-a" not in repr(it.steps)
    assert "in-a-url" in repr(it.definition)


def test_a_broken_pipeline_shows_no_secrets_either() -> None:
    it = one("    chain:\n      - class: Nothing\n        kwargs: {api_key: hunter2, url: 'https://a:b@h/'}\n")

    assert it.definition is None
    assert "hunter2" not in it.yaml
    assert "a:b@" not in it.yaml


def test_only_values_are_masked_not_names_of_secrets() -> None:
    shown = masked({"password": {"secret": "db"}, "token": "x", "nested": [{"api_key": 5, "cookies": ["a"]}]})

    assert shown == {"password": {"secret": "db"}, "token": "***", "nested": [{"api_key": "***", "cookies": ["***"]}]}


# --- the watch --------------------------------------------------------------------------------------------------------


def test_a_file_is_read_when_it_has_changed_and_is_quiet_again(tmp_path: Path) -> None:
    path = tmp_path / "pipelines.yml"
    path.write_text(f"pipelines:\n{GOOD}")
    book = WatchedPipelineFile(path=path, reader=READER)

    def look() -> list[str] | str | None:
        sheet = asyncio.run(book.look(NOW))
        if sheet is None:
            return None
        return sheet.fault.message if sheet.fault else [one.name for one in sheet.pipelines]

    assert look() == ["good"]
    assert look() is None

    path.write_text("pipel")  # half written
    assert look() is None
    path.write_text(f"pipelines:\n{GOOD}  more:\n    chain: [{{class: JsonParser}}]\n")
    assert look() is None
    assert look() == ["good", "more"]

    os.utime(path, (1, 1))  # touched
    assert (look(), look()) == (None, None)

    path.unlink()
    assert (look(), look(), look()) == (None, "cannot be read (No such file or directory)", None)
    path.mkdir()
    assert (look(), look()) == (None, "cannot be read (it is not a file)")

    book.forget()
    assert look() == "cannot be read (it is not a file)"


def test_a_file_that_somebody_begins_to_write_while_it_is_read_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pipelines.yml"
    path.write_text(f"pipelines:\n{GOOD}  more:\n    chain: [{{class: JsonParser}}]\n")
    book, opened = WatchedPipelineFile(path=path, reader=READER), Path.open

    def half(self: Path, mode: str) -> object:
        os.truncate(self, len(f"pipelines:\n{GOOD}"))
        return opened(self, mode)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", half)
        assert asyncio.run(book.look(NOW)) is None
    path.write_text(f"pipelines:\n{GOOD}  more:\n    chain: [{{class: JsonParser}}]\n")
    book.forget()
    assert asyncio.run(book.look(NOW)) is None
    sheet = asyncio.run(book.look(NOW))
    assert sheet is not None
    assert len(sheet.pipelines) == 2


def test_two_looks_are_less_than_two_seconds() -> None:
    from foliot.features.pipelines.usecases.reconcile import PERIOD

    assert timedelta(seconds=2 * PERIOD) <= timedelta(seconds=1)
