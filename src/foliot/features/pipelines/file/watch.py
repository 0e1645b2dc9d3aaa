"""Polls the pipelines file by `stat`, and reads it when it has changed and two polls agree."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from foliot.core.threads import WORK
from foliot.features.pipelines.file.parse import MAX_BYTES
from foliot.features.pipelines.file.read import PipelineFileReader
from foliot.features.pipelines.model import FileContents, FileFault

Seen = tuple[int, int, int]
"""Modification time, size and inode of a file."""


@dataclass(slots=True, kw_only=True)
class WatchedPipelineFile:
    """The pipelines file; safe against reading it while it is being written."""

    path: Path
    reader: PipelineFileReader
    _seen: Seen | str | None = field(default=None, init=False)
    _said: str | None = field(default=None, init=False)
    """Digest of the last contents, or the error of the last read."""

    async def look(self, now: datetime) -> FileContents | None:
        """The contents; None when they have not changed, or the file may still be being written."""
        seen = await WORK.run(_stat, self.path)
        # A writer changes a file several times: it is read when two polls agree, or at the first poll.
        quiet, self._seen = self._seen in (None, seen), seen
        if not quiet:
            return None
        return await WORK.run(self._read, now, seen)

    def forget(self) -> None:
        """Makes the next poll read it again."""
        self._said = None

    def _read(self, now: datetime, seen: Seen | str) -> FileContents | None:
        if isinstance(seen, str):
            return None if self._same(seen) else self._unread(seen)
        try:
            with self.path.open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        except OSError as failed:
            why = _why(failed)
            return None if self._same(why) else self._unread(why)
        if _stat(self.path) != seen:
            # It changed while it was read: a partial file would look as if the missing pipelines were removed.
            return None
        if self._same(hashlib.sha256(raw).hexdigest()):
            return None
        return self.reader.read(raw, str(self.path), now)

    def _same(self, said: str) -> bool:
        before, self._said = self._said, said
        return before == said

    def _unread(self, why: str) -> FileContents:
        fault = FileFault(file=str(self.path), line=None, column=None, message=why, suggestion="see PIPELINES_CONFIG")
        return FileContents(file=str(self.path), fault=fault)


def _stat(path: Path) -> Seen | str:
    try:
        found = path.stat()
    except OSError as failed:
        return _why(failed)
    if not stat.S_ISREG(found.st_mode):
        return "cannot be read (it is not a file)"
    return found.st_mtime_ns, found.st_size, found.st_ino


def _why(failed: OSError) -> str:
    return f"cannot be read ({failed.strerror or type(failed).__name__})"
