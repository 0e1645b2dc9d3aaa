"""Crontabs: what a line becomes, and that it fires when Debian's cron would start it."""

from __future__ import annotations

import random
from datetime import UTC
from itertools import islice

import pytest
from cronsim import CronSim

from foliot.features.imports.model.crontab import read_crontab
from foliot.features.imports.model.imported import Imported, UnreadableSource
from tests.features.imports.oracles import (
    EACH,
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    local,
    trigger_of,
)

CRONTAB = """\
# m h dom mon dow command
SHELL=/bin/bash
MAILTO=ops@example.com
CRON_TZ=Europe/Stockholm

# Sync the shop
30 2 * * 1-5  /usr/bin/python3 sync.py --date=$(date +\\%F)
FOO = "bar baz"
*/5 9-17 1,15 * mon /opt/poll%line one%line two
@daily   /usr/bin/cleanup
@reboot  /usr/bin/warm-up
0~30 3 * * * curl -fsS https://example.com
@daily   /usr/bin/cleanup
"""


def read(text: str = CRONTAB) -> Imported:
    return read_crontab(text, "UTC")


def test_a_line_becomes_a_command_with_the_environment_that_precedes_it() -> None:
    sync, poll, *_ = read().documents

    assert sync["name"] == "Sync the shop"
    assert (sync["cron_expr"], sync["timezone"]) == ("30 2 * * 1-5", "Europe/Stockholm")
    assert sync["action"] == {
        "kind": "command",
        "argv": ["/bin/bash", "-c", "/usr/bin/python3 sync.py --date=$(date +%F)"],
    }
    assert poll["action"]["env"] == {"FOO": "bar baz"}
    assert poll["action"]["stdin"] == "line one\nline two\n"


def test_policies_are_those_of_cron() -> None:
    document = read().documents[0]

    assert document["overlap"] == "allow_all"
    assert document["catchup"] == {"mode": "none", "grace_seconds": 60}
    assert document["retry_policy"] == {"max_retries": 0}


def test_names_are_unique_and_stay_the_same() -> None:
    names = [document["name"] for document in read().documents]

    assert names == ["Sync the shop", "poll", "cleanup", "curl -fsS https://example.com", "cleanup (2)"]
    assert names == [document["name"] for document in read().documents]


def test_what_does_not_carry_over_has_a_note() -> None:
    notes = {(note.entry, note.text) for note in read().notes}

    assert ("line 11", "left out: @reboot is not a time: there is no equivalent") in notes
    assert any("MAILTO=ops@example.com" in text for _, text in notes)
    assert any("0~30 3 * * *" in text for _, text in notes)


def test_the_plain_shell_needs_no_program() -> None:
    (document,) = read("* * * * * echo hello\n").documents

    assert document["action"] == {"kind": "command", "argv": ["echo hello"], "shell": True}


def test_system_crontabs_name_a_user() -> None:
    imported = read_crontab("17 * * * * root cd / && run-parts /etc/cron.hourly\n", "UTC", users=True)

    assert imported.documents[0]["action"]["argv"] == ["cd / && run-parts /etc/cron.hourly"]
    assert [note.text for note in imported.notes] == ["lines of the user root run as the user that Foliot runs as"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* * * * echo\n", "line 1: must be five fields and a command"),
        ("\n61 * * * * echo\n", "line 2: minute: '61' is not within 0-59"),
        ("0 0 31 2 * echo\n", "line 1: can never fire"),
    ],
)
def test_a_faulty_line_is_named(text: str, message: str) -> None:
    with pytest.raises(UnreadableSource) as wrong:
        read(text)

    assert str(wrong.value).startswith(message)


def test_generated_lines_fire_when_cron_would_start_them() -> None:
    random_ = random.Random(24)
    for number in range(ENTRIES):
        # Day and weekday are joined by OR, or by AND where one begins with a star: as Debian's cron has it.
        fields = generated_fields(random_)
        expression = " ".join(fields)
        (document,) = read(f"CRON_TZ={ZONE}\n{expression} job {number}\n").documents
        trigger = trigger_of(document)
        for start in STARTS:
            theirs = [at.astimezone(UTC) for at in islice(CronSim(expression, local(start)), EACH)]
            assert instants(trigger, start) == theirs, expression
