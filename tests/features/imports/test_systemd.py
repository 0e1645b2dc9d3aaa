"""Timers of systemd: what a unit becomes, and that it fires when `systemd-analyze` says that it elapses."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from foliot.features.commands.config import read_command
from foliot.features.imports.model.calendar_spec import calendar_trigger
from foliot.features.imports.model.imported import UnreadableSource
from foliot.features.imports.model.systemd import read_systemd
from foliot.features.imports.sources import read_source
from tests.features.imports.oracles import EACH, ENTRIES, STARTS, ZONE, instants, local, same, trigger_of

ANALYZE = shutil.which("systemd-analyze")
TIMER = """\
[Unit]
Description=Nightly backup

[Timer]
OnCalendar=Mon..Fri *-*-* 02:30
OnCalendar=Sat 04:00 Europe/Berlin
Persistent=true
RandomizedDelaySec=5min
AccuracySec=1us
"""
SERVICE = """\
[Service]
Type=oneshot
User=backup
WorkingDirectory=/srv/backup
Environment="TARGET=/mnt/a b" LEVEL=3
ExecStart=-/usr/bin/backup --to ${TARGET} \\
  --level=$LEVEL
TimeoutStartSec=1h 30min
MemoryMax=1G
"""
CAT = "# /etc/systemd/system/poll@.timer\n[Timer]\nOnUnitActiveSec=90\nOnBootSec=5\n\n"
CAT += "# /etc/systemd/system/poll@.timer.d/override.conf\n[Timer]\nOnUnitActiveSec=\nOnUnitActiveSec=2min\n\n"
CAT += "# /etc/systemd/system/poll@.service\n[Service]\nExecStart=/opt/poll --unit %p\nExecStart=/opt/second\n"


def read(*files: tuple[str, str]) -> Any:
    return read_systemd(files or (("/u/backup.timer", TIMER), ("/u/backup.service", SERVICE)), ZONE)


def test_a_timer_becomes_a_schedule_for_each_of_its_times() -> None:
    imported = read()
    weekdays, saturday = imported.documents

    assert (weekdays["name"], saturday["name"]) == ("backup", "backup (2)")
    assert (weekdays["cron_expr"], weekdays["timezone"]) == ("30 2 * * 1-5", ZONE)
    assert (saturday["cron_expr"], saturday["timezone"]) == ("0 4 * * 6", "Europe/Berlin")
    assert weekdays["action"] == {
        "kind": "command",
        "argv": ["/usr/bin/backup", "--to", "/mnt/a b", "--level=3"],
        "env": {"TARGET": "/mnt/a b", "LEVEL": "3"},
        "cwd": "/srv/backup",
    }
    assert (weekdays["overlap"], weekdays["timeout_seconds"], weekdays["jitter_seconds"]) == ("skip", 5400, 300)
    assert weekdays["catchup"]["mode"] == "latest"
    read_command({name: value for name, value in weekdays["action"].items() if name != "kind"})


def test_what_does_not_carry_over_has_a_note() -> None:
    texts = [note.text for note in read().notes]

    for part in ("MemoryMax", "services of the user backup", "a failure of its program is ignored", "several times"):
        assert any(part in text for text in texts), part


def test_the_output_of_systemctl_cat_is_read_with_its_drop_ins() -> None:
    (poll,) = read(("-", CAT)).documents

    assert (poll["type"], poll["interval_seconds"]) == ("interval", 120)
    assert poll["action"] == {
        "kind": "command",
        "argv": ["/opt/poll --unit poll && /opt/second"],
        "shell": True,
    }


def test_a_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "backup.timer").write_text(TIMER)
    (tmp_path / "backup.service").write_text(SERVICE)
    (tmp_path / "README").write_text("none of ours")

    assert len(read_source("systemd", str(tmp_path), ZONE).documents) == 2


def test_a_timer_without_its_service_is_left_out() -> None:
    (note,) = read(("backup.timer", TIMER)).notes

    assert (note.entry, note.text) == ("backup.timer", "left out: starts backup.service, which is not in the source")


def test_a_source_without_timers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="systemctl cat"):
        read(("x.service", SERVICE))
    with pytest.raises(UnreadableSource, match="no file named"):
        read_source("systemd", str(tmp_path), ZONE)


def generated(random_: random.Random) -> str:
    """A specification that fires often enough."""
    weekday = random_.choice(["", "", "Mon..Fri ", "Sat,Sun ", "Wed ", "Tue,Thu..Sat "])
    day = random_.choice(["*", "*", "*", "1..7", "1,15", "~01", "2/3"])
    month = random_.choice(["*"] * 8 + ["1..6", "3,10"])
    date = random_.choice(["", f"*-{month}{'' if day[0] == '~' else '-'}{day} "])
    hour = random_.choice(["*", "*", "0/2", "9..17", "2", f"{random_.randint(0, 23)}", "1,2,3,13"])
    minute = random_.choice(["0", "30", "*", "0/15", f"{random_.randint(0, 59)}", "5..20/5"])
    second = random_.choice(["", "", "", ":0", ":30", ":0/20"])
    return f"{weekday}{date}{hour}:{minute}{second}"


def elapses(spec: str, start: datetime, count: int) -> list[datetime]:
    base = f"--base-time={local(start):%Y-%m-%d %H:%M:%S}"
    command = [str(ANALYZE), "calendar", f"--iterations={count}", base, spec]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TZ": ZONE}).stdout
    found = re.findall(r"\(in UTC\): \w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", said)
    return [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in found]


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt install systemd")
def test_generated_specifications_fire_when_systemd_would_start_them() -> None:
    random_ = random.Random(24)
    differ = 0
    for _ in range(ENTRIES):
        spec = generated(random_)
        trigger = trigger_of(calendar_trigger(spec, ZONE))
        for start in STARTS:
            ours, theirs = instants(trigger, start), elapses(spec, start, EACH)
            assert same(ours, theirs), spec
            differ += ours != theirs
    # The note about those nights is no guess.
    assert differ
