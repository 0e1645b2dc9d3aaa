"""Crawls on a real Scrapyd: how they are started, followed, stopped and judged."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.app import build
from foliot.cli.check.connections import check_scrapyd
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.engine.model.run import Cancelled, Failed, Outcome, Parked, Succeeded
from foliot.features.crawls.action.action import CrawlPace
from foliot.features.crawls.action.scrapy_log import ScrapyLogState
from foliot.features.health.usecases import HealthChecks
from foliot.net.client import HttpEgress
from tests.following import PACE, Crawling, Followed, crawling
from tests.scrapyd_server import TESTBOT, ScrapydServer, a_scrapyd
from tests.services import free_port

pytestmark = pytest.mark.timeout(180)

PAGE = "http://127.0.0.1:9/"
_NUMBERS = itertools.count(1)


@pytest.fixture
async def here(scrapyd: ScrapydServer) -> AsyncIterator[Crawling]:
    async with crawling([scrapyd.url]) as made:
        yield made


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScrapydServer]:
    """A Scrapyd that runs one crawl at a time, asks for a password, and may be killed."""
    home = tmp_path_factory.mktemp("narrow") / "home"
    with a_scrapyd(home, TESTBOT, user="bot", password="s3cret", max_proc=1) as server:
        yield server


@pytest.fixture
def alone(narrow: ScrapydServer) -> ScrapydServer:
    if narrow.process is None:
        narrow.start()
    narrow.reset()
    return narrow


def name() -> str:
    """Scrapyd keeps the logs of earlier tests."""
    return f"run_action{next(_NUMBERS)}"


async def ended(run: Followed) -> Outcome:
    assert isinstance(await run.start(), Parked), run.outcome
    return await run.end()


def problem(outcome: Outcome | None) -> tuple[str, bool]:
    assert isinstance(outcome, Failed), outcome
    return outcome.problem.code, outcome.permanent


def said_by(scrapyd: ScrapydServer, run: Followed) -> list[str]:
    """The log file itself, read whole."""
    assert run.handle is not None
    reading = ScrapyLogState()
    lines = scrapyd.log_of(run.handle["project"], run.handle["spider"], run.handle["jobid"]).read_text().splitlines()
    return [reading.read(line).text for line in lines]


async def open_(run: Followed) -> None:
    """Until the spider is at work: before that, its process just dies when it is told to stop."""
    await run.until("running")
    while not any("[talks] line 1" in text for text in run.text):
        assert isinstance(await run.look(), Parked), run.outcome


OURS = ("Started on ", "Waiting on ", "Running on ", "Finished: ", "The ", "Asked ", "Scrapyd ")


def copied(run: Followed) -> list[str]:
    return [text for text in run.text if not text.startswith(OURS)]


async def test_every_way_a_spider_ends_is_told_in_words(here: Crawling, scrapyd: ScrapydServer) -> None:
    runs = {
        "finds": here.run("finds", run_id=name(), params={"items": 3, "start_url": "ä,b"}),
        "raises": here.run("raises", run_id=name()),
        "stumbles": here.run("stumbles", run_id=name(), max_errors=1),
        "dies": here.run("dies", run_id=name()),
        "quiet": here.run("quiet", run_id=name(), params={"min_items": 1}),
    }
    await asyncio.gather(*(ended(run) for run in runs.values()))

    found = runs["finds"]
    assert isinstance(found.outcome, Succeeded)
    assert found.items == [{"number": 0}, {"number": 1}, {"number": 2}]
    assert (found.outcome.result["items"], found.outcome.result["finish_reason"]) == (3, "finished")
    assert found.steps[-1]["items"] == 3
    for run in runs.values():
        assert copied(run) == said_by(scrapyd, run)
    assert {kind: problem(run.outcome) for kind, run in runs.items() if kind != "finds"} == {
        "raises": ("spider_closed", True),
        "stumbles": ("too_many_errors", True),
        "dies": ("crawl_killed", True),
        "quiet": ("too_few_items", True),
    }
    assert "RuntimeError: the spider broke on purpose" in runs["raises"].text[-1]
    # The lines carry the time at which they were said, whatever the zone of the node.
    moments = [at for text, _, at in found.lines if not text.startswith(OURS)]
    assert all(at is not None and abs(at - datetime.now(UTC)) < timedelta(minutes=10) for at in moments)  # noqa: TID251


async def test_a_crawl_that_breaks_an_expectation_is_degraded_and_names_it(here: Crawling) -> None:
    runs = {
        "few": here.run("finds", run_id=name(), params={"items": 3}, expect={"items": ">= 10", "errors": "<= 0"}),
        "bare": here.run("finds", run_id=name(), params={"items": 3}, expect={"items": "3", "duration": "<= 1h"}),
    }
    await asyncio.gather(*(ended(run) for run in runs.values()))
    few, bare = runs["few"].outcome, runs["bare"].outcome

    assert isinstance(few, Succeeded)
    assert few.degraded is not None
    assert "items: 3, expected >= 10" in few.degraded.message
    assert isinstance(bare, Succeeded)
    assert (bare.degraded, bare.result["items"]) == (None, 3)


async def test_a_long_log_is_copied_while_it_grows_every_line_once(here: Crawling, scrapyd: ScrapydServer) -> None:
    arguments = {"lines": 30_000, "burst": 3000, "pause": 0.1, "text": "said \x1b[31mred\x07 id: 7\\n\\nevent: end"}
    run = here.run("talks", run_id=name(), params=arguments)

    assert isinstance(await ended(run), Succeeded)
    assert copied(run) == said_by(scrapyd, run)
    numbered = [text for text in run.text if text.startswith("[talks] said red")]
    assert [int(text.rpartition(" ")[2]) for text in numbered] == list(range(1, 30_001))
    assert not any("\x1b" in text or "\n" in text for text in run.text)


async def test_what_was_asked_for_arrives(here: Crawling, scrapyd: ScrapydServer, tmp_path: Path) -> None:
    urls = [PAGE, "http://127.0.0.1:9/a,b"]
    given = {"until": str(tmp_path / "go"), "flag": True, "several": [1, "zwei"]}
    run = here.run("quiet", run_id=name(), start_urls=urls, depth=0, params=given)
    await run.start()
    waiting = next(one for state in ("pending", "running") for one in scrapyd.ask("listjobs")[state])
    await run.until("running")

    assert waiting["id"] == run.run_id
    process = Path(f"/proc/{scrapyd.process_of(run.run_id)}/cmdline").read_bytes().decode().split("\0")
    assert {"start_urls=http://127.0.0.1:9/,http://127.0.0.1:9/a%2Cb", "depth=0", "DEPTH_LIMIT=-1"} < set(process)
    assert {"flag=true", 'several=[1,"zwei"]', f"until={tmp_path}/go"} < set(process)
    scrapyd.reset()


async def test_a_crawl_is_written_down_before_it_is_started_and_never_started_twice(
    here: Crawling, scrapyd: ScrapydServer
) -> None:
    """The worker died after it had asked Scrapyd, before it could say so."""
    run = here.run("finds", run_id=name())
    await run.start()
    run.handle = run.notes[0]
    assert (run.notes[0]["jobid"], run.notes[0]["state"]) == (run.run_id, "starting")

    assert isinstance(await run.end(), Succeeded)
    jobs = scrapyd.ask("listjobs", project="TestBot")
    assert [job["id"] for state in ("pending", "running", "finished") for job in jobs[state]].count(run.run_id) == 1


async def test_a_crawl_that_was_only_written_down_is_started_once_that_is_certain(here: Crawling) -> None:
    """The worker died before it had asked Scrapyd."""
    run = here.run("finds", run_id=name())
    asked = here.clock.now()
    handle = {"node": here.nodes.everyone[0].node.url, "project": "TestBot", "spider": "finds", "jobid": run.run_id}
    run.handle = {**handle, "asked_at": asked.isoformat(), "state": "starting", "starts": 1, "idle": 0}

    assert isinstance(await run.look(), Parked)
    assert run.text == [], "the request of whoever died may still be under way"
    assert isinstance(await run.end(), Succeeded)
    assert here.clock.now() - asked > PACE.certain
    assert len(run.items) == 3


async def test_a_crawl_is_cancelled_where_it_runs(here: Crawling, scrapyd: ScrapydServer, tmp_path: Path) -> None:
    run = here.run("talks", run_id=name(), params={"lines": 1, "until": str(tmp_path / "go")})
    await run.start()
    await open_(run)

    run.cancel = True
    outcome = await run.end()

    assert isinstance(outcome, Cancelled)
    assert scrapyd.state(run.run_id) == "finished"
    assert copied(run)[-1].startswith("[scrapy.core.engine] Spider closed (shutdown)"), "its log is there to the end"


async def test_a_spider_that_does_not_listen_is_killed_and_its_time_limit_said(
    scrapyd: ScrapydServer, tmp_path: Path
) -> None:
    pace = CrawlPace(poll=timedelta(milliseconds=50), closing=timedelta(milliseconds=300))
    async with crawling([scrapyd.url], pace=pace) as here:
        run = here.run("deaf", run_id=name(), params={"until": str(tmp_path / "go")})
        await run.start()
        await run.until("running")
        while not any("I hear nothing" in text for text in run.text):
            await run.look()
        run.limit = timedelta(milliseconds=1)

        outcome = await run.end()

    assert problem(outcome) == ("timeout", True)
    assert scrapyd.state(run.run_id) == "finished"


async def test_the_time_limit_counts_from_when_scrapyd_runs_it(alone: ScrapydServer, tmp_path: Path) -> None:
    async with crawling([alone.url]) as here:
        first = here.run("quiet", run_id=name(), params={"until": str(tmp_path / "go")})
        second = here.run("finds", run_id=name())
        second.limit = timedelta(milliseconds=200)
        await first.start()
        await first.until("running")
        await second.start()
        await second.until("pending")
        before = here.clock.now()
        while here.clock.now() - before < 2 * second.limit:
            assert isinstance(await second.look(), Parked)
        assert second.handle is not None
        assert "stopping" not in second.handle

        second.cancel = True
        assert await second.look() == Cancelled("cancelled on request, before it had begun")
        assert alone.state(second.run_id) is None
        (tmp_path / "go").touch()
        assert isinstance(await first.end(), Succeeded)


async def test_a_crawl_whose_run_was_ended_from_outside_is_let_go(
    here: Crawling, scrapyd: ScrapydServer, tmp_path: Path
) -> None:
    run = here.run("quiet", run_id=name(), params={"until": str(tmp_path / "go")})
    await run.start()
    await run.until("running")

    run.ended = True
    assert not isinstance(await run.end(), Parked)
    assert scrapyd.state(run.run_id) == "finished"


async def test_what_scrapyd_does_not_know_is_refused_with_its_words(here: Crawling) -> None:
    unknown = here.run("nobody", run_id=name())
    elsewhere = here.run("finds", project="Nothing", run_id=name())

    assert problem(await unknown.start()) == ("crawl_refused", True)
    assert "spider 'nobody' not found" in unknown.text[-1]
    assert problem(await elsewhere.start()) == ("crawl_refused", True)
    assert "project 'Nothing' not found" in elsewhere.text[-1]


async def test_the_least_loaded_node_gets_it_and_a_dead_one_is_left_out(
    scrapyd: ScrapydServer, alone: ScrapydServer, tmp_path: Path
) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    async with crawling([dead, scrapyd.url, alone.url]) as here:
        runs = [here.run("quiet", run_id=name(), params={"until": str(tmp_path / "go")}) for _ in range(4)]
        for run in runs:
            await run.start()
        seen = {each.url: (each.error, each.load) for each in await here.nodes.seen()}

        places = [run.handle["node"] for run in runs if run.handle is not None]
        assert sorted(places.count(url) for url in set(places)) == [2, 2]
        assert dead not in places
        assert seen[dead] == ("It could not be reached.", None)
        assert {text for run in runs for text in run.text} <= {
            f"Started on Scrapyd {number} as {run.run_id}" for number in (2, 3) for run in runs
        }, "where the nodes are is the operator's affair"
        assert "s3cret" not in f"{runs} {seen} {here.nodes.everyone}"
        (tmp_path / "go").touch()
        scrapyd.reset()


async def test_without_a_node_that_answers_the_attempt_fails_and_may_be_tried_again() -> None:
    async with crawling([f"http://127.0.0.1:{free_port()}"]) as here:
        run = here.run("finds", run_id=name())

        assert problem(await run.start()) == ("no_node", False)
        assert run.notes == []


async def test_a_crawl_whose_scrapyd_is_killed_is_lost_and_the_next_attempt_has_a_name_of_its_own(
    alone: ScrapydServer, scrapyd: ScrapydServer, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"params": {"until": str(tmp_path / "go")}}
    async with crawling([alone.url]) as here:
        run = here.run("quiet", run_id=name(), **given)
        await run.start()
        await run.until("running")
        alone.kill()
        outcome = await run.end()
    assert problem(outcome) == ("node_lost", False)
    assert run.text[-1].startswith("Scrapyd has not answered for 2 s: the crawl is lost")

    async with crawling([alone.url, scrapyd.url]) as here:
        again = here.run("finds", run_id=run.run_id)
        again.attempt = 2
        assert isinstance(await ended(again), Succeeded)
        assert again.notes[-1]["jobid"] == f"{run.run_id}-2"


async def test_what_a_restarted_scrapyd_has_forgotten_is_told_by_its_log(alone: ScrapydServer, tmp_path: Path) -> None:
    async with crawling([alone.url]) as here:
        done = here.run("finds", run_id=name())
        await done.start()
        alone.waits_for(done.run_id, "finished")
        swept = here.run("talks", run_id=name(), params={"lines": 1, "until": str(tmp_path / "go")})
        await swept.start()
        await open_(swept)
        alone.kill()
        alone.start()

        assert isinstance(await done.end(), Succeeded)
        assert len(done.items) == 3
        assert problem(await swept.end()) == ("crawl_lost", False)


async def test_a_crawl_that_outlives_its_scrapyd_is_followed_to_its_end(alone: ScrapydServer, tmp_path: Path) -> None:
    async with crawling([alone.url]) as here:
        run = here.run("talks", run_id=name(), params={"lines": 40, "burst": 1, "pause": 0.2})
        await run.start()
        await open_(run)
        alone.kill(spiders=False)
        alone.start()

        assert isinstance(await run.end(), Succeeded)
        assert "[talks] line 40" in run.text


async def test_a_crawl_given_up_too_early_is_followed_and_no_second_is_started(
    here: Crawling, scrapyd: ScrapydServer, tmp_path: Path
) -> None:
    run = here.run("quiet", run_id=name(), params={"until": str(tmp_path / "go")})
    await run.start()
    await run.until("running")

    again = here.run("quiet", run_id=run.run_id, params={"until": str(tmp_path / "go")})
    again.attempt = 3
    await again.start()
    (tmp_path / "go").touch()

    assert again.notes[-1]["jobid"] == run.run_id
    assert isinstance(await again.end(), Succeeded)
    assert scrapyd.state(f"{run.run_id}-3") is None


async def test_a_name_that_leads_inside_by_now_is_not_crawled(scrapyd: ScrapydServer) -> None:
    answers = iter(["93.184.216.34", "10.0.0.1"])

    async def flips(host: str) -> list[str]:
        return [next(answers)]

    async with crawling([scrapyd.url], targets=HttpEgress(resolver=flips)) as here:
        first = here.run("quiet", run_id=name(), start_urls=["http://shop.test/"])
        assert isinstance(await first.start(), Parked)
        second = here.run("quiet", run_id=name(), start_urls=["http://shop.test/"])

        assert problem(await second.start()) == ("target_unreachable", False)
        assert second.notes == []
    assert scrapyd.state(second.run_id) is None


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://10.0.0.1/", "http://localhost/", "http://169.254.169.254/"]
)
async def test_a_private_address_is_refused_when_it_is_asked_for(url: str) -> None:
    async with crawling(["http://127.0.0.1:6800"], targets=HttpEgress()) as here:
        with pytest.raises(Invalid) as refusal:
            here.run("quiet", start_urls=["http://shop.test/", url])

    assert refusal.value.field == "start_urls.1"


async def test_one_question_per_node_and_project_serves_all_crawls(here: Crawling, scrapyd: ScrapydServer) -> None:
    runs = [here.run("finds", run_id=name()) for _ in range(3)]
    for run in runs:
        await run.start()
    log = scrapyd.home / "scrapyd.log"
    before = log.read_text().count("GET /listjobs.json")

    await here.crawl.look([run.asked() for run in runs])

    assert log.read_text().count("GET /listjobs.json") == before + 1
    scrapyd.reset()


async def test_foliot_check_and_the_health_say_how_each_node_is(scrapyd: ScrapydServer, tmp_path: Path) -> None:
    dead = f"http://bot:s3cret@127.0.0.1:{free_port()}"
    environ = {"FOLIOT_HOME": str(tmp_path), "SCRAPYD_URL": f"{scrapyd.url},{dead}", "SCRAPYD_PROJECT": "TestBot"}
    settings = Settings.load(environ)

    findings = await check_scrapyd(settings)
    lacking = await check_scrapyd(Settings.load({**environ, "SCRAPYD_URL": scrapyd.url, "SCRAPYD_PROJECT": "Nothing"}))
    app = build.build(settings, http=False, engine=False)
    await build.migrate(settings)
    await app.start()
    try:
        health = await app.usecases[HealthChecks].detailed(LOCAL)
    finally:
        await app.stop()

    assert [(each.level, each.key) for each in findings] == [("ok", "SCRAPYD_URL"), ("error", "SCRAPYD_URL")]
    assert "could not be reached" in findings[1].message
    assert [(each.level, "has no project Nothing" in each.message) for each in lacking] == [("warning", True)]
    assert [each.error for each in health.crawlers] == [None, "It could not be reached."]
    assert health.status == "degraded"
    assert any("127.0.0.1" in problem and "cannot be used" in problem for problem in health.problems)
    assert "s3cret" not in f"{findings} {health}"
