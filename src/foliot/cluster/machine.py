"""Resources of processes: cores and memory that this one may use, limits and environment of its children."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foliot.cluster import sandbox
from foliot.cluster.process_tree import control

MEBIBYTE = 1024 * 1024
GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
UNBOUNDED = 1 << 60
"""Without a limit, cgroup v1 writes a value near the largest number."""
OURS = 256 * MEBIBYTE
"""Memory reserved for the process itself, beside its readers."""
LEAST, MOST = 192 * MEBIBYTE, 1024 * MEBIBYTE
"""Memory of one reader: less would fail pages that are merely large, and none needs more."""
POOLS = 2
"""Pools of readers in a process: one for articles, one for pipelines and tasks."""


@dataclass(frozen=True, slots=True)
class ReaderCapacity:
    """Number of processes of a pool, and the memory limit of each."""

    many: int
    memory: int

    @classmethod
    def of(cls, cores: int, memory: int) -> ReaderCapacity:
        """One for each core, as far as there is memory for all of them."""
        room = max(memory - OURS, 0)
        many = max(min(cores, room // (POOLS * LEAST)), 1)
        return cls(many, min(max(room // (POOLS * many), LEAST), MOST))

    @classmethod
    def here(cls) -> ReaderCapacity:
        return cls.of(cores(), memory())


def cores(groups: Path = GROUPS, own: Path = OWN) -> int:
    """Usable cores: those of the CPU affinity, and no more than the cgroup's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for place in _places(groups, own, "cpu"):
        quota, period = _quota(place)
        if quota is not None and period:
            count = min(count, max(math.ceil(quota / period), 1))
    return count


def memory(groups: Path = GROUPS, own: Path = OWN) -> int:
    """Bytes that this process and its children may use together."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for place in _places(groups, own, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _number(place / name)
            if limit is not None and 0 < limit < UNBOUNDED:
                most = min(most, limit)
    return most


def _places(groups: Path, own: Path, controller: str) -> Iterator[Path]:
    """Directories of our cgroup and its parents, of either version; a container sees its own as the root."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    yield from (groups, groups / controller)
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = groups / controllers if controllers else groups
        inner = base / path.lstrip("/")
        yield from (place for place in (inner, *inner.parents) if place.is_relative_to(base) and place != base)


def _quota(place: Path) -> tuple[int | None, int | None]:
    try:
        quota, period = (place / "cpu.max").read_text().split()
    except (OSError, ValueError):
        given = _number(place / "cpu.cfs_quota_us")
        return (given if given is not None and given > 0 else None), _number(place / "cpu.cfs_period_us")
    return (int(quota) if quota.isdigit() else None), int(period)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


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
    """Cores that it may use: its CPU time is limited to the timeout of a call, times this. 0: not limited."""
    tree: int | None = None
    """Bytes of it and what it has started, together; a supervisor kills all of them, also when our process dies.

    None: no supervisor. 0: no limit.
    """
    sealed: bool = False
    """It parses untrusted bytes: where the kernel can, no files but its own modules, no sockets, no processes."""

    def as_dict(self) -> dict[str, int | bool | None]:
        return asdict(self)


def confine(given: Mapping[str, Any]) -> ChildLimits:
    """Apply the limits to this process, permanently, but for `forbid_processes`; programs gain no privileges.

    Threads that are started later are bound as well, those that run already are not sealed.
    """
    bounds = ChildLimits(**given)
    _give_up_privileges()
    if bounds.sealed:
        sandbox.seal()
    try:
        import resource
    except ImportError:
        return bounds
    _limit(resource.RLIMIT_CORE, 0)
    for what, most in ((resource.RLIMIT_DATA, bounds.memory), (resource.RLIMIT_NOFILE, bounds.files)):
        if most is not None:
            _limit(what, most)
    return bounds


def forbid_processes(bounds: ChildLimits) -> None:
    """Apply the limit of processes, which counts threads too: call it when the last one has been started."""
    if bounds.processes is not None:
        with suppress(ImportError):
            import resource

            _limit(resource.RLIMIT_NPROC, bounds.processes)


def bound_processor(seconds: float, cores: int) -> None:
    """CPU time of the next call; the kernel ends a process that exceeds it, whatever its parent does."""
    if not cores:
        return
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
    control(_DUMPABLE, 0)


def _give_up_privileges() -> None:
    """Setuid programs start without privileges (no_new_privs)."""
    control(_NO_NEW_PRIVS, 1)
