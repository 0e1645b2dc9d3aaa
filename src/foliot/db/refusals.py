"""Classifies why a database refuses: a full disk, a read-only server, a lock, or no answer, by each driver's errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foliot.core.errors import Cause, StoreRefusal

LULL = 10.0
"""A refusal is over after this many seconds without another; actors that report are refused more often than that."""

_SQLITE = {
    "SQLITE_FULL": Cause.DISK_FULL,
    "SQLITE_READONLY": Cause.READ_ONLY,
    "SQLITE_IOERR": Cause.DISK_ERROR,
    "SQLITE_CORRUPT": Cause.DISK_ERROR,
    "SQLITE_NOTADB": Cause.DISK_ERROR,
    "SQLITE_BUSY": Cause.BUSY,
    "SQLITE_LOCKED": Cause.BUSY,
}
_POSTGRESQL = {
    "53100": Cause.DISK_FULL,
    "25006": Cause.READ_ONLY,
    "58030": Cause.DISK_ERROR,
    "53300": Cause.BUSY,
    "57014": Cause.BUSY,
}
_MARIADB = {
    3: Cause.DISK_ERROR,
    1021: Cause.DISK_FULL,
    1114: Cause.DISK_FULL,
    1290: Cause.READ_ONLY,
    1792: Cause.READ_ONLY,
    1836: Cause.READ_ONLY,
    1040: Cause.BUSY,
    1969: Cause.BUSY,
    3024: Cause.BUSY,
}
_FULL = "error 28 "
"""MariaDB's engines pass on the system's ENOSPC under numbers of their own."""


def cause_of(error: Any) -> Cause:
    """By the driver's error code where there is one, never by words that a translation changes."""
    cause = getattr(error, "orig", None) or error
    name = getattr(cause, "sqlite_errorname", None)
    if isinstance(name, str):
        # An extended code, such as SQLITE_READONLY_DBMOVED, begins with the name of its primary one.
        return _SQLITE.get("_".join(name.split("_")[:2]), Cause.AWAY)
    state = getattr(cause, "sqlstate", None)
    if isinstance(state, str) and state in _POSTGRESQL:
        return _POSTGRESQL[state]
    arguments: tuple[Any, ...] = getattr(cause, "args", ()) or ()
    number = arguments[0] if arguments else None
    if isinstance(number, int):
        full = any(_FULL in str(text) for text in arguments[1:])
        return Cause.DISK_FULL if full else _MARIADB.get(number, Cause.AWAY)
    return Cause.AWAY


@dataclass(slots=True)
class RefusalLog:
    """The recent refusals of this process, remembered in memory."""

    _write: StoreRefusal | None = None
    _read: StoreRefusal | None = None

    def note(self, cause: Cause, error: str, at: float, *, writes: bool) -> None:
        was = self._write if writes else self._read
        since = at if was is None or at - was.last > LULL else was.since
        refusal = StoreRefusal(cause, error, since, at)
        if writes:
            self._write = refusal
        else:
            self._read = refusal

    def standing(self, at: float) -> StoreRefusal | None:
        """The current refusal; failed reads take precedence."""
        for refusal in (self._read, self._write):
            if refusal is not None and at - refusal.last <= LULL:
                return refusal
        return None
