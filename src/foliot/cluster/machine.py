"""Cores and memory that this process may use: those of its cgroup, or of the whole machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
