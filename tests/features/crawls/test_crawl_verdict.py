"""What becomes of a crawl, by what its log says at its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.engine.model.run import Failed, Succeeded
from foliot.features.crawls.action.handle import CrawlHandle, HandleUnreadable, advance
from foliot.features.crawls.action.scrapy_log import ScrapyLogState
from foliot.features.crawls.action.verdict import judge

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def crawl(*, closed: bool = True, **given: Any) -> CrawlHandle:
    stats: dict[str, Any] = {"finish_reason": "finished", "response_received_count": 5, "item_scraped_count": 2}
    stats |= given.pop("stats", {})
    reading = (
        ScrapyLogState(opened=True, closed=stats["finish_reason"], stats=stats)
        if closed
        else ScrapyLogState(opened=True)
    )
    for name, value in given.items():
        setattr(reading, name, value)
    handle = CrawlHandle(node="http://n", project="p", spider="s", jobid="run_1", asked_at=NOON, reading=reading)
    handle.log.offset = 100
    return handle


def failure(handle: CrawlHandle, *, forgotten: bool = False, missing: bool = False, **conditions: Any) -> Failed:
    outcome = judge(handle, conditions, forgotten=forgotten, missing=missing)
    assert isinstance(outcome, Failed)
    return outcome


def test_one_that_finished_has_succeeded_and_says_what_it_found() -> None:
    outcome = judge(crawl(), {})

    assert isinstance(outcome, Succeeded)
    assert {name: outcome.result[name] for name in ("pages", "items", "errors", "finish_reason", "jobid")} == {
        "pages": 5,
        "items": 2,
        "errors": 0,
        "finish_reason": "finished",
        "jobid": "run_1",
    }


@pytest.mark.parametrize("reason", ["closespider_itemcount", "closespider_pagecount"])
def test_one_that_has_what_it_came_for_has_succeeded(reason: str) -> None:
    assert isinstance(judge(crawl(stats={"finish_reason": reason}), {}), Succeeded)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("start_error", "failed before its first page"),
        ("cancelled", "it stopped itself"),
        ("memusage_exceeded", "MEMUSAGE_LIMIT_MB"),
        ("closespider_errorcount", "CLOSESPIDER_ERRORCOUNT"),
        ("bandwidth_gone", "the reason bandwidth_gone."),
    ],
)
def test_one_that_closed_for_another_reason_failed_and_the_reason_is_said(reason: str, words: str) -> None:
    failed = failure(crawl(stats={"finish_reason": reason}))

    assert words in failed.problem.message
    assert (failed.problem.code, failed.permanent) == ("spider_closed", True)


def test_an_exception_that_a_spider_did_not_catch_is_a_failure_with_its_words() -> None:
    broken = crawl(stats={"spider_exceptions/KeyError": 2, "spider_exceptions/count": 2}, trouble="KeyError: 'price'")

    assert failure(broken).problem.message == "The spider raised KeyError 2 times, the first: KeyError: 'price'"


def test_whoever_says_how_many_errors_there_may_be_decides_about_exceptions_too() -> None:
    broken = crawl(stats={"spider_exceptions/KeyError": 2, "log_count/ERROR": 2})

    assert isinstance(judge(broken, {"max_errors": 2}), Succeeded)
    assert failure(broken, max_errors=1).problem.code == "too_many_errors"


def test_errors_alone_are_counted_and_no_failure() -> None:
    outcome = judge(crawl(stats={"log_count/ERROR": 7, "log_count/CRITICAL": 1}), {})

    assert isinstance(outcome, Succeeded)
    assert outcome.result["errors"] == 8


def test_one_that_fetched_nothing_but_errors_failed() -> None:
    stats = {"response_received_count": 0, "item_scraped_count": 0, "log_count/ERROR": 1}
    failed = failure(crawl(stats=stats, trouble="Error downloading <GET http://x/>"))

    assert failed.problem.message == "The crawl fetched no page. Its first error: Error downloading <GET http://x/>"


@pytest.mark.parametrize("conditions", [{}, {"max_errors": 5}, {"min_items": 0}])
def test_one_without_a_page_never_succeeds(conditions: dict[str, Any]) -> None:
    failed = failure(crawl(stats={"response_received_count": 0, "item_scraped_count": 0}), **conditions)

    assert (failed.problem.code, failed.permanent) == ("nothing_fetched", True)


def test_items_without_a_page_are_partial() -> None:
    outcome = judge(crawl(stats={"response_received_count": 0}), {})

    assert isinstance(outcome, Succeeded)
    assert outcome.partial


def test_robots_txt_is_no_page() -> None:
    stats = {"response_received_count": 1, "robotstxt/response_count": 1, "robotstxt/forbidden": 1}

    assert failure(crawl(stats=stats | {"item_scraped_count": 0})).problem.message == (
        "The crawl fetched no page. robots.txt forbids 1 request of it."
    )
    assert isinstance(judge(crawl(stats={"robotstxt/response_count": 1}), {}), Succeeded)


@pytest.mark.parametrize(("least", "succeeds"), [(0, True), (2, True), (3, False)])
def test_fewer_items_than_wanted_are_a_failure(least: int, succeeds: bool) -> None:
    assert isinstance(judge(crawl(), {"min_items": least}), Succeeded) is succeeds


def test_a_log_without_closing_stats_is_a_crawl_that_was_killed() -> None:
    failed = failure(crawl(closed=False))

    assert (failed.problem.code, failed.permanent) == ("crawl_killed", True)


def test_a_spider_that_never_opened_says_why() -> None:
    failed = failure(crawl(closed=False, opened=False, trouble="ImportError: no module named lxml"))

    assert failed.problem.message == "The spider could not start: ImportError: no module named lxml"


def test_without_a_log_nobody_can_say_and_that_is_said() -> None:
    assert failure(crawl(closed=False), missing=True).problem.code == "log_missing"


def test_one_that_scrapyd_has_forgotten_is_tried_again_unless_its_log_tells() -> None:
    lost = failure(crawl(closed=False), forgotten=True)
    swept = failure(crawl(stats={"finish_reason": "shutdown"}), forgotten=True)

    assert [(each.problem.code, each.permanent) for each in (lost, swept)] == [("crawl_lost", False)] * 2
    assert isinstance(judge(crawl(), {}, forgotten=True), Succeeded)


def test_one_that_somebody_else_stopped_is_not_tried_again() -> None:
    failed = failure(crawl(stats={"finish_reason": "shutdown"}))

    assert (failed.problem.code, failed.permanent) == ("crawl_stopped", True)


def test_rates_are_those_of_the_last_whole_minute() -> None:
    handle = crawl(closed=False)
    seen = []
    for minutes, pages in [(0, 10), (0.5, 30), (1, 60), (1.5, 75), (2, 70 + 60)]:
        handle.reading.pages = pages
        advance(handle, NOON + timedelta(minutes=minutes))
        seen.append(handle.progress["pages_per_minute"])

    assert seen == [10.0, 30.0, 60.0, 60.0, 70.0]


def test_nothing_new_is_no_progress() -> None:
    handle = crawl(closed=False, pages=3)

    assert [advance(handle, NOON), advance(handle, NOON)] == [True, False]


def test_a_handle_survives_being_written_down() -> None:
    handle = crawl()
    handle.reading.zone = 0
    advance(handle, NOON)

    assert CrawlHandle.of(handle.as_dict()) == handle


@pytest.mark.parametrize(
    "damage",
    [
        {"node": None},
        {"node": ["n"]},
        {"asked_at": "noon"},
        {"log": 5},
        {"reading": 5},
        {"stopping": {"why": "cancel"}},
    ],
)
def test_a_handle_that_was_damaged_is_called_that(damage: dict[str, Any]) -> None:
    damaged = crawl().as_dict() | damage
    with pytest.raises(HandleUnreadable):
        CrawlHandle.of(damaged)
