"""What the pages claim can be checked: commands exist, files are there, computed examples come out as printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.main import get_command

from foliot.cli.root import app
from foliot.core.time.trigger import Trigger, cron
from foliot.engine.model.outcome import AttemptFacts, BackoffStrategy, RetryPolicy, judge
from foliot.engine.model.run import AttemptError, Failed
from foliot.engine.model.schedule import Catchup, Overlap, ScheduleSpec
from foliot.engine.model.settle import DueSchedule, settle

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "UPGRADING")),
    *sorted(DOCS.rglob("*.md")),
]
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
STOCKHOLM = ZoneInfo("Europe/Stockholm")


@cache
def read(page: Path) -> str:
    return page.read_text()


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# --- pages ------------------------------------------------------------------------------------------------------------


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, ahead = set[Path](), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s:]+\.md)", read(page))
        ahead += [target for link in links if (target := (page.parent / link).resolve()).is_relative_to(DOCS)]

    assert set(DOCS.rglob("*.md")) - reached == set()


def test_decisions_are_numbered_in_order_and_fit_on_a_page() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    for page in DECISIONS:
        text = read(page)
        assert re.match(rf"# {page.name[:4]}: ", text), page.name
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], page.name
        assert len(text.splitlines()) <= 50, f"{page.name} is longer than a page"


def faulty(faults: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """The faults of each page that has some."""
    found = {name(page): list(faults(page)) for page in PAGES}
    return {page: wrong for page, wrong in found.items() if wrong}


def test_what_a_page_tells_to_make_and_run_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))

    def missing(page: Path) -> Iterator[str]:
        code = "\n".join(re.findall(r"`([^`\n]+)`", read(page)) + blocks(page, "bash") + blocks(page, "console"))
        yield from set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)", code)) - targets
        yield from (path for path in re.findall(r"\btests/[\w/]+\.py", code) if not (ROOT / path).exists())

    assert faulty(missing) == {}


OWN_FILES = re.compile(r"(?<![\w/.…])((?:bench|deploy|tests|docs|examples|chaos|ui|proto|\.ci)/[\w./-]*\w/?)")
MADE = {"deploy/.env", "deploy/foliot.env"}
"""By whoever follows the page."""


def test_files_of_ours_that_a_page_names_are_there() -> None:
    def missing(page: Path) -> list[str]:
        return [path for path in OWN_FILES.findall(read(page)) if path not in MADE and not (ROOT / path).exists()]

    assert faulty(missing) == {}


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("move-from-*.md")), ids=name)
def test_whoever_moves_here_is_told_of_every_kind_of_action(page: Path) -> None:
    links = set(re.findall(r"\]\(([^)#]+)", read(page)))

    assert {"webhooks.md", "tasks.md", "pipelines.md", "grpc-calls.md", "../concepts/crawls.md"} <= links
    assert "calls URLs" not in re.sub(r"\s+", " ", read(page))


def test_a_crawl_that_ends_badly_is_in_the_state_that_the_page_says() -> None:
    failed = Failed(AttemptError("too_few_items", "none"), permanent=True)
    ended = judge(AttemptFacts("run_1", 1, 4, RetryPolicy()), failed, datetime(2027, 1, 1, tzinfo=UTC))

    assert f"The run ends `{ended.state}`" in read(DOCS / "how-to" / "crawl-success.md")


# --- commands ---------------------------------------------------------------------------------------------------------


def test_every_command_of_a_page_exists_with_its_flags() -> None:
    def wrong(page: Path) -> list[str]:
        return [f"{line}: {complaint}" for line in commands(page) if (complaint := check(line))]

    assert sum(1 for page in PAGES for _ in commands(page)) > 200
    assert faulty(wrong) == {}


def blocks(page: Path, *kinds: str) -> list[str]:
    found = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL)
    return [body.replace("\\\n", " ") for kind, body in found if kind in kinds]


def commands(page: Path) -> Iterator[str]:
    """Every use of `foliot`, in blocks and within sentences, up to a pipe, a comment or the next command."""
    prose = re.sub(r"^```.*?^```", "", read(page), flags=re.MULTILINE | re.DOTALL)
    spans = [re.sub(r"\s+", " ", span) for span in re.findall(r"`(foliot [^`]+)`", prose)]
    for text in [*blocks(page, "bash", "sh", "console", "ini"), *spans]:
        for found in re.finditer(r"(?:^|[\s=(;&]|bin/)foliot( (?!foliot)[a-z-][^\n|;&#)]*)", text):
            yield found[1].strip()


@cache
def program() -> Any:
    """Built once: it takes longer than everything that is asked of it."""
    return get_command(app)


def check(line: str) -> str | None:
    try:
        words = shlex.split(line)
    except ValueError:
        return None  # a quote that goes on in the next line
    node: Any = program()
    while words and hasattr(node, "commands"):
        word = words.pop(0)
        if word.isupper() or "…" in word or word.startswith("-"):
            return None  # "foliot COMMAND --help", "foliot schedule …"
        if word not in node.commands and "://" in word and hasattr(node, "default"):
            words, word = [word, *words], node.default  # "foliot crawl https://…"
        if word not in node.commands:
            return f"there is no {word!r}"
        node = node.commands[word]
    flags = {flag for parameter in getattr(node, "params", ()) for flag in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word.split("=")[0] not in {*flags, "--help"}]
    return f"there is no {unknown}" if unknown else None


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", BackoffStrategy)
def test_the_delays_of_the_page_are_the_delays(strategy: BackoffStrategy) -> None:
    policy = RetryPolicy(strategy=strategy)
    delays = ", ".join(f"{policy.delay(retry):g}" for retry in range(1, 9))

    assert re.search(
        rf"^\| `{strategy.value}`.*\| {delays} \|$", read(DOCS / "concepts/overlap-and-retries.md"), re.MULTILINE
    )


SPRING, AUTUMN = datetime(2027, 3, 28, tzinfo=STOCKHOLM), datetime(2027, 10, 31, tzinfo=STOCKHOLM)


@pytest.mark.parametrize(
    ("expression", "day", "times"),
    [
        ("30 2 * * *", SPRING, "03:00"),
        ("30 2 * * *", AUTUMN, "02:30"),
        ("15 1-4 * * *", SPRING, "01:15 03:00 03:15 04:15"),
        ("15 1-4 * * *", AUTUMN, "01:15 02:15 03:15 04:15"),
        ("0 */2 * * *", SPRING, "00:00 04:00"),
        ("0 */2 * * *", AUTUMN, "00:00 02:00 02:00' 04:00"),
        ("*/20 2 * * *", SPRING, ""),
        ("*/20 2 * * *", AUTUMN, "02:00 02:20 02:40 02:00' 02:20' 02:40'"),
        ("*/30 * * * *", SPRING, "00:00 00:30 01:00 01:30 03:00 03:30 04:00 04:30"),
        ("*/30 * * * *", AUTUMN, "00:00 00:30 01:00 01:30 02:00 02:30 02:00' 02:30' 03:00 03:30 04:00 04:30"),
        ("0,30 2 * * *", SPRING, "03:00"),
    ],
)
def test_clocks_change_as_the_page_says(expression: str, day: datetime, times: str) -> None:
    """From midnight to five; a time that comes for the second time has a stroke."""
    assert f"`{expression}`" in read(DOCS / "concepts/time.md")
    trigger = Trigger(cron(expression, "Europe/Stockholm", key=""))
    fires = trigger.between(day.astimezone(UTC), day.replace(hour=5).astimezone(UTC))

    local = [at.astimezone(STOCKHOLM) for at in fires]
    assert " ".join(f"{at:%H:%M}" + "'" * at.fold for at in local) == times


NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("catchup", "runs", "ledger"),
    [
        ({"mode": "none"}, "-", "12:00 to 14:00, 13"),
        ({"mode": "latest"}, "14:00", "12:00 to 13:50, 12"),
        ({"mode": "all"}, "13:10, 13:20, 13:30, 13:40, 13:50, 14:00", "12:00 to 13:00, 7"),
        ({"mode": "all", "max_runs": 3}, "13:40, 13:50, 14:00", "12:00 to 13:30, 10"),
    ],
)
def test_catch_up_comes_out_as_in_the_table(catchup: dict[str, Any], runs: str, ledger: str) -> None:
    trigger = Trigger(cron("*/10 * * * *", "UTC", key=""))
    spec = ScheduleSpec(trigger=trigger, kind="webhook", overlap=Overlap.ALLOW_ALL, catchup=Catchup.from_dict(catchup))
    plan = settle(
        DueSchedule("sch_1", "default", "local", 1, spec.dump(), spec.anchor, NOON),
        NOON + timedelta(hours=2, minutes=5),
    )

    (entry,) = plan.ledger
    assert (", ".join(f"{run.scheduled_for:%H:%M}" for run in plan.runs) or "-") == runs
    assert f"{entry.first:%H:%M} to {entry.last:%H:%M}, {entry.count}" == ledger
    assert f"| {runs} | {ledger} `missed`" in read(DOCS / "concepts/time.md")
