"""Overlap: what the open runs of a schedule mean for its next instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.engine.model.ledger import LedgerReason
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import BUFFER, Overlap


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run of the schedule that has not ended. A buffered one waits for its predecessor."""

    id: str
    state: RunState
    buffered: bool = False


def must_wait(open_runs: Sequence[OpenRun]) -> bool:
    """Runs that only wait are cancelled at once; one that runs takes a moment to stop."""
    return any(not run.buffered and run.state is RunState.RUNNING for run in open_runs)


@dataclass(slots=True)
class OpenRunCount:
    """The open runs of a schedule, as they grow while its instants are judged."""

    open: int
    buffered: int
    one_runs: bool

    def judge(self, overlap: Overlap, left: int) -> tuple[bool, LedgerReason | None]:
        """Whether the next run must wait, and why it may not be; `left` instants come after it."""
        match overlap:
            case Overlap.ALLOW_ALL:
                return False, None
            case Overlap.SKIP:
                return False, LedgerReason.OVERLAP if self.open else None
            case Overlap.BUFFER_ONE:
                return bool(self.open), LedgerReason.OVERLAP if self.buffered else None
            case Overlap.BUFFER_ALL:
                return bool(self.open), LedgerReason.BUFFER_FULL if self.buffered >= BUFFER else None
            case Overlap.CANCEL_OTHER:
                return self.one_runs, LedgerReason.SUPERSEDED if left else None
            case Overlap.TERMINATE_OTHER:
                return False, LedgerReason.SUPERSEDED if left else None
