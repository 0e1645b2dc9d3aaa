"""A cursor is for the list and the tenant it was given to."""

from __future__ import annotations

import pytest

from foliot.auth.keyring import Keyring
from foliot.commands.cursor import Cursors
from foliot.core.errors import Invalid

OLD, NEW = "an old master key that only tests know", "a new master key that only tests know"
RUNS = "acme\n/api/runs"


def test_a_place_comes_back_from_its_cursor() -> None:
    cursors = Cursors(Keyring.of([NEW]), RUNS)

    assert cursors.open(cursors.seal("run_01")) == "run_01"


@pytest.mark.parametrize("other", ["other\n/api/runs", "acme\n/api/schedules"])
def test_a_cursor_of_another_tenant_or_list_is_refused(other: str) -> None:
    keyring = Keyring.of([NEW])
    cursor = Cursors(keyring, RUNS).seal("run_01")

    with pytest.raises(Invalid, match="next_cursor of this list"):
        Cursors(keyring, other).open(cursor)


def test_a_cursor_outlives_the_replacement_of_the_master_key() -> None:
    cursor = Cursors(Keyring.of([OLD]), RUNS).seal("run_01")

    assert Cursors(Keyring.of([NEW, OLD]), RUNS).open(cursor) == "run_01"
    with pytest.raises(Invalid):
        Cursors(Keyring.of([NEW]), RUNS).open(cursor)


def test_no_character_of_a_cursor_can_be_changed() -> None:
    cursors = Cursors(Keyring.of([NEW]), RUNS)
    cursor = cursors.seal("run_0123456789")

    for at, was in enumerate(cursor[:-1]):
        with pytest.raises(Invalid):
            cursors.open(cursor[:at] + ("A" if was != "A" else "B") + cursor[at + 1 :])


@pytest.mark.parametrize("cursor", ["", "x", "é", "====", "AAAA" * 60, "bm9wZQ"])
def test_what_was_never_sealed_is_refused(cursor: str) -> None:
    for pepper in (None, Keyring.of([NEW])):
        with pytest.raises(Invalid):
            Cursors(pepper, RUNS).open(cursor)
