"""The one table of a run's life, and that the database says the same."""

from __future__ import annotations

import re
import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy import CheckConstraint

from foliot.core.queue_name import PRIORITIES
from foliot.core.time.trigger import TriggerType
from foliot.engine.model import run as run_module
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import AGEING, CLAIMABLE, OPEN, TRANSITIONS, Origin, RunState, order_key
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.tables import ledger, runs, schedules
from tests.givens import NOON

FINAL = {
    RunState.SUCCESS,
    RunState.PARTIAL,
    RunState.DEGRADED,
    RunState.FAILED,
    RunState.DEAD_LETTER,
    RunState.CANCELLED,
}


def check(table: str, name: str) -> str:
    """The text of a constraint."""
    tables = {"runs": runs, "schedules": schedules, "ledger": ledger}
    found = [
        str(one.sqltext)
        for one in tables[table].constraints
        if isinstance(one, CheckConstraint) and str(one.name) in {name, f"ck_{table}_{name}"}
    ]
    assert len(found) == 1, f"{table} has no constraint {name}"
    return found[0]


def named(constraint: str) -> set[str]:
    return set(re.findall(r"'([a-z_]+)'", constraint))


def test_every_state_is_in_the_table_and_leads_to_states() -> None:
    assert set(TRANSITIONS) == set(RunState)
    assert set().union(*TRANSITIONS.values()) <= set(RunState)


def test_nothing_leaves_a_final_state() -> None:
    assert {state for state in RunState if state.final} == FINAL
    assert set(RunState) - FINAL == OPEN


def test_only_a_running_run_ends_other_than_by_cancel() -> None:
    assert {state for state in OPEN if TRANSITIONS[state] & (FINAL - {RunState.CANCELLED})} == {RunState.RUNNING}


def test_what_waits_can_be_claimed_and_cancelled_and_nothing_else() -> None:
    assert {state: TRANSITIONS[state] for state in CLAIMABLE} == dict.fromkeys(
        CLAIMABLE, frozenset({RunState.RUNNING, RunState.CANCELLED})
    )


def test_every_state_can_be_reached() -> None:
    reached, grown = set[RunState](), {RunState.QUEUED}
    while grown - reached:
        reached |= grown
        grown = reached.union(*(TRANSITIONS[state] for state in reached))

    assert reached == set(RunState)


def test_the_drawing_above_the_table_names_every_state() -> None:
    drawing = run_module.__doc__ or ""

    assert [state for state in RunState if state.value not in drawing] == []


@pytest.mark.parametrize(
    ("table", "name", "words"),
    [
        ("runs", "state", RunState),
        ("runs", "origin", Origin),
        ("runs", "lane", CLAIMABLE),
        ("runs", "open", OPEN),
        ("runs", "finished", OPEN),
        ("runs", "lease", {RunState.RUNNING}),
        ("runs", "buffered", {RunState.QUEUED}),
        ("schedules", "status", ScheduleStatus),
        ("schedules", "type", TriggerType),
        ("ledger", "fate", LedgerKind),
    ],
)
def test_the_database_knows_exactly_the_words_of_the_domain(table: str, name: str, words: set[str]) -> None:
    assert named(check(table, name)) == {str(word) for word in words}


@pytest.mark.parametrize("state", RunState)
def test_the_database_lets_a_run_be_claimable_leased_or_ended_only_where_the_table_does(state: RunState) -> None:
    def allows(constraint: str, **columns: object) -> bool:
        """Ask SQLite what the constraint's text says of such a row."""
        row = {"state": state.value, "lane": None, "lease_until": None, "finished_at": None, "open_of": None, **columns}
        row = {"buffered_of": None, **row}
        listed = ", ".join(f"? AS {column}" for column in row)
        with sqlite3.connect(":memory:") as database:
            query = f"SELECT {check('runs', constraint)} FROM (SELECT {listed})"
            answer = bool(database.execute(query, tuple(row.values())).fetchone()[0])
        database.close()
        return answer

    assert allows("lane", lane="default") == (state in CLAIMABLE)
    assert allows("lease", lease_until="soon") == (state is RunState.RUNNING)
    assert allows("finished", finished_at="now") == state.final
    assert allows("finished") == (not state.final)
    assert allows("open", open_of="sch_1") == (not state.final)
    assert allows("buffered", buffered_of="sch_1") == (state is RunState.QUEUED)
    assert not allows("buffered", buffered_of="sch_1", lane="default")


def test_the_most_urgent_goes_first_among_those_that_wait_alike() -> None:
    keys = [order_key(NOON, priority) for priority in PRIORITIES]

    assert keys == sorted(keys)
    assert keys[0] == NOON


def test_waiting_long_enough_beats_any_priority() -> None:
    patient = order_key(NOON, max(PRIORITIES))

    assert patient < order_key(NOON + 9 * AGEING + timedelta(microseconds=1), min(PRIORITIES))
