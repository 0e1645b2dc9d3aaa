"""A campaign that could not do its work says so, and nothing else."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chaos import __main__ as command
from chaos import history, kinds, report
from chaos.doors import Answer, Doors
from chaos.generator import Generator, Hindered
from chaos.history import Scribe
from foliot.db.clock import StoreClock

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)


def kept(directory: Path, *events: Mapping[str, Any], runs: int = 1) -> Path:
    """A history with one schedule whose one instant ran, and these events."""
    scribe = Scribe(directory)
    scribe.tell("campaign", name="kill9", seed=1, scale=0.1, rate=1)
    rule = {"every": 2, "anchor": START.isoformat(), "end": (START + timedelta(seconds=1)).isoformat()}
    scribe.tell("era", schedule="sch_1", kind="steady", rule=rule, since=(START - timedelta(seconds=1)).isoformat())
    for event in events:
        scribe.tell(**event)
    scribe.close()
    at = START.isoformat()
    row = {"id": "run_1", "schedule": "sch_1", "at": at, "state": "success", "attempt": 1, "max_attempts": 4}
    row |= {"created": at, "kind": "webhook", "parent": None, "fills": None}
    history.write(directory / history.RUNS, [row] * runs)
    tried = {
        "run": "run_1",
        "epoch": 1,
        "number": 1,
        "worker": "h:7:a",
        "outcome": "success",
        "started": at,
        "ended": at,
    }
    history.write(directory / history.ATTEMPTS, [tried] * runs)
    history.write(directory / history.LEDGER, [])
    seen = {"webhook_id": "run_1", "attempt": 1, "at": at, "seen": START.timestamp(), "status": 200, "call": 1}
    history.write(directory / history.CALLS, [seen, {"call": 1, "answered": START.timestamp()}] if runs else [])
    return directory


STRUCK = {"event": "fault", "who": "scheduler-1", "what": "kill", "until": START.timestamp()}
REFUSED = {"event": "hindered", "what": "the campaign broke off: /api/schedules was answered 422"}
WRONG = {"event": "wrong", "what": "api-1 ended by itself"}


@pytest.mark.parametrize(
    ("events", "runs", "verdict", "code"),
    [
        ([STRUCK], 1, "sound", 0),
        ([STRUCK, WRONG], 1, "BROKEN", 1),
        ([], 1, "no verdict", 3),
        ([WRONG], 1, "no verdict", 3),
        ([STRUCK, REFUSED], 1, "no verdict", 3),
        ([STRUCK, REFUSED, WRONG], 1, "no verdict", 3),
        ([STRUCK], 0, "no verdict", 3),
    ],
    ids=["worked", "broken", "no fault", "no fault and wrong", "refused", "refused and wrong", "nothing ran"],
)
def test_only_a_campaign_that_did_its_work_has_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], events: list[dict[str, Any]], runs: int, verdict: str, code: int
) -> None:
    kept(tmp_path, *events, runs=runs)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ended = command.main(["judge", "--keep", str(tmp_path)])
    finally:
        signal.signal(signal.SIGTERM, before)

    assert ended == code
    assert capsys.readouterr().out.splitlines()[-1].split(maxsplit=1) == ["verdict", verdict]
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == report.of(tmp_path).verdict == verdict


class Busy(Doors):
    """Doors that take their time, and refuse an end that has passed, as Foliot does."""

    def __init__(self, scribe: Scribe, takes: Callable[[], float]) -> None:
        super().__init__([0], scribe)
        self.takes, self.number = takes, 0

    def insist(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        self.number += 1
        end = body.get("end_at")
        heard = StoreClock().now() + timedelta(seconds=self.takes() if end else 0)
        if end is not None and datetime.fromisoformat(end) <= heard:
            return 422, {"detail": "end_at must lie ahead"}
        return 201, {"id": f"sch_{self.number}", "version": 1, "created_at": heard.isoformat()}


def made(directory: Path, takes: Callable[[], float]) -> Generator:
    scribe = Scribe(directory)
    try:
        generator = Generator(Busy(scribe, takes), scribe, random.Random(1), 20, 1)
        generator.create(lead=-3600, seconds=1)
    finally:
        scribe.close()
    return generator


def test_a_machine_that_is_too_busy_for_the_first_end_is_asked_for_a_later_one(tmp_path: Path) -> None:
    slowly = iter([60.0, 20.0, *[0.0] * 200])

    generator = made(tmp_path, lambda: next(slowly))

    assert len(generator.schedules) == len(kinds.cast(20))
    ends = [one["rule"]["end"] for one in history.lines(tmp_path / history.EVENTS) if "end" in one.get("rule", {})]
    assert len(ends) > 1
    assert all(datetime.fromisoformat(end) > StoreClock().now() - timedelta(seconds=30) for end in ends)


def test_a_request_that_is_refused_for_good_is_the_campaigns_own_fault(tmp_path: Path) -> None:
    with pytest.raises(Hindered, match="422"):
        made(tmp_path, lambda: 1e6)
