"""Resource limits and the environment of a child process: what it may use, and what it is told."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

PYTHON = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH")
"""Variables without which an interpreter may not find itself."""
PLACE = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Variables that say where and in which language a program runs."""

_DUMPABLE, _NO_NEW_PRIVS = 4, 38
"""Options of prctl(2)."""


def environment(names: Iterable[str] = ()) -> dict[str, str]:
    """What a child is told of our environment: what its interpreter needs, and these variables."""
    return {name: os.environ[name] for name in (*PYTHON, *names) if name in os.environ}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one child may use; None: as much as we may."""

    memory: int | None = None
    """Bytes of its own, beside files that it maps."""
    files: int | None = None
    processes: int | None = None
    """Of this user, all that run counted: 0 lets a child start no other."""
    cores: int = 1
    """How many it may keep busy: its processor time is bounded by the time limit of a call, times this."""

    def as_dict(self) -> dict[str, int | None]:
        return asdict(self)


def confine(given: Mapping[str, Any]) -> Bounds:
    """Put this process under its bounds, for good; no program that it starts gets more rights than it has."""
    bounds = Bounds(**given)
    _give_up_privileges()
    try:
        import resource
    except ImportError:
        return bounds
    _limit(resource.RLIMIT_CORE, 0)
    for what, most in (
        (resource.RLIMIT_DATA, bounds.memory),
        (resource.RLIMIT_NOFILE, bounds.files),
        (resource.RLIMIT_NPROC, bounds.processes),
    ):
        if most is not None:
            _limit(what, most)
    return bounds


def bound_processor(seconds: float, cores: int) -> None:
    """The next call may compute so long; the system ends a process that goes on, whatever its parent does."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds * cores) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    # Only the soft one: the next call needs more.
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _limit(what: int, most: int) -> None:
    import resource

    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def hide_from_children() -> None:
    """Our memory and environment, which hold secrets, are not shown in /proc to other processes of the same user."""
    _control(_DUMPABLE, 0)


def _give_up_privileges() -> None:
    """Setuid programs are started as anybody's."""
    _control(_NO_NEW_PRIVS, 1)


def _control(option: int, value: int) -> None:
    """prctl(2), where there is such a thing."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
