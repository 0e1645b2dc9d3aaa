"""Resource limits and environment of child processes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

PYTHON = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH")
"""Variables without which an interpreter may not start."""
PLACE = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Variables of locale and directories."""

_DUMPABLE, _NO_NEW_PRIVS = 4, 38
"""Options of prctl(2)."""


def environment(names: Iterable[str] = ()) -> dict[str, str]:
    """The environment of a child: what its interpreter needs, and these variables."""
    return {name: os.environ[name] for name in (*PYTHON, *names) if name in os.environ}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """Limits of one child; None: unlimited."""

    memory: int | None = None
    """Bytes of its own, beside mapped files."""
    files: int | None = None
    processes: int | None = None
    """Processes of this user, all running ones counted: 0 lets a child start no other."""
    cores: int = 1
    """Cores that it may use: its CPU time is limited to the timeout of a call, times this."""

    def as_dict(self) -> dict[str, int | None]:
        return asdict(self)


def confine(given: Mapping[str, Any]) -> ChildLimits:
    """Apply the limits to this process, permanently; programs that it starts gain no privileges."""
    bounds = ChildLimits(**given)
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
    """CPU time of the next call; the kernel ends a process that exceeds it, whatever its parent does."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds * cores) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    # Only the soft limit: the next call needs more.
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _limit(what: int, most: int) -> None:
    import resource

    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def hide_from_children() -> None:
    """Hide our memory and environment, which hold secrets, from other processes of the same user in /proc."""
    _control(_DUMPABLE, 0)


def _give_up_privileges() -> None:
    """Setuid programs start without privileges (no_new_privs)."""
    _control(_NO_NEW_PRIVS, 1)


def _control(option: int, value: int) -> None:
    """prctl(2), where it exists."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
