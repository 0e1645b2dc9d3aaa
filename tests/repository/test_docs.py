"""Nothing a user can meet is missing from the reference."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest

from foliot.core.time.trigger import TriggerType
from foliot.engine.model.ledger import LedgerKind, LedgerReason
from foliot.engine.model.run import EventType, Origin, RunState
from foliot.engine.model.schedule import CatchupMode, ManagedBy, Overlap, ScheduleStatus
from tests.reference import PAGES, REFERENCE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@cache
def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text()


def rows(name: str) -> set[str]:
    """What the first columns of a page's tables name, without the quotes."""
    return {cell for line in page(name).splitlines() for cell in re.findall(r"^\| `([^`]+)`", line)}


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (RunState, "runs"),
        (Origin, "runs"),
        (EventType, "runs"),
        (ScheduleStatus, "schedules"),
        (TriggerType, "schedules"),
        (ManagedBy, "schedules"),
        (Overlap, "schedules"),
        (CatchupMode, "schedules"),
        (LedgerKind, "schedules"),
        (LedgerReason, "schedules"),
    ],
)
def test_every_word_has_its_row(words: type[StrEnum], where: str) -> None:
    assert {word.value for word in words} - rows(where) == set()


@pytest.mark.parametrize("name", PAGES)
def test_what_only_repeats_the_code_is_up_to_date(name: str) -> None:
    assert page(name) == PAGES[name](), "run `make reference`"


def test_every_page_of_the_reference_is_listed_in_the_index() -> None:
    index = (DOCS / "index.md").read_text()

    assert [page.name for page in REFERENCE.glob("*.md") if f"reference/{page.name}" not in index] == []


def test_every_link_between_our_pages_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]

    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists()
    ]

    assert broken == []
