"""Detects directories on in-memory file systems, which lose their files when the machine or container stops."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
FORGETS = (
    "{path} is in memory ({kind}): files that pipelines write there are lost when the machine or its container stops; "
    "put it on a disk or a volume"
)


def volatile(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The kind of the in-memory file system that holds this path; None when it is on disk or unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    below = {}
    for line in lines:
        _, place, kind, *_ = [*line.split(" "), "", "", ""]
        # Spaces in names are written as octal.
        below[Path(place.replace("\\040", " "))] = kind
    nearest = next((place for place in (path, *path.parents) if place in below), None)
    kind = "" if nearest is None else below[nearest]
    return kind if kind in IN_MEMORY else None
