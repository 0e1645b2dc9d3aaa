"""File sink: atomic writes (temporary file and rename), confined to the allowed directories."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar

from foliot.core.errors import Invalid, Unavailable
from foliot.core.threads import WORK

T = TypeVar("T")

PART = ".part"
LONGEST_NAME = 180
"""Maximum bytes of a file name, with space for the suffix of the temporary file."""
_BESIDE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_ADDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Local directories; a relative path is below the first."""

    roots: Sequence[Path]

    def check(self, path: str) -> None:
        self._place(path)

    async def open(self, path: str, owner: str, *, append: bool = False) -> FileWriter:
        target = self._place(path)
        return await WORK.run(_guarded, lambda: self._opened(target, path, owner, append=append))

    def _place(self, path: str) -> Path:
        if not path or "\x00" in path or path.endswith("/") or ".." in Path(path).parts:
            raise Invalid("path", "must be the name of a file, without ..", got=path[:200])
        if len(Path(path).name.encode("utf-8", "replace")) > LONGEST_NAME:
            raise Invalid("path", f"must have a name of at most {LONGEST_NAME} bytes", got=path[:200])
        if not self.roots:
            raise Invalid("path", "cannot be written: no directory for files is configured", got=path[:200])
        target = self.roots[0] / path
        if not any(target.is_relative_to(root) for root in self.roots):
            listed = ", ".join(str(root) for root in self.roots)
            raise Invalid("path", f"must be below {listed}; FOLIOT_SINK_DIRS allows more directories", got=path[:200])
        return target

    def _opened(self, target: Path, path: str, owner: str, *, append: bool) -> FileWriter:
        self.roots[0].mkdir(parents=True, exist_ok=True)
        there = next(parent for parent in target.parents if parent.exists())
        if not any(there.resolve().is_relative_to(root.resolve()) for root in self.roots if root.exists()):
            raise Invalid("path", "leaves its directory through a link", got=path[:200])
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise Invalid("path", "is a directory", got=path[:200])
        _sweep(target, owner)
        if append:
            return FileWriter(_ended(os.open(target, _ADDING, 0o666)), target, None)
        part = target.with_name(f".{target.name}.{owner}-{secrets.token_hex(4)}{PART}")
        return FileWriter(os.fdopen(os.open(part, _BESIDE, 0o666), "wb"), target, part)


@dataclass(slots=True)
class FileWriter:
    """One open file; operations run in a thread, one after the other."""

    file: BinaryIO
    target: Path
    part: Path | None
    """Path of the temporary file; None in append mode."""
    _last: asyncio.Future[None] | None = field(default=None)
    _over: bool = False

    async def write(self, data: bytes) -> None:
        await self._step(lambda: self._write(data))

    async def commit(self) -> None:
        await self._step(self._commit)
        self._over = True

    async def discard(self) -> None:
        if self._over:
            return
        self._over = True
        if self._last is not None:
            # A cancelled call leaves its thread behind, which may still write.
            await asyncio.wait([self._last])
        await WORK.run(self._discard)

    async def _step(self, step: Callable[[], None]) -> None:
        self._last = asyncio.ensure_future(WORK.run(_guarded, step))
        await asyncio.shield(self._last)

    def _write(self, data: bytes) -> None:
        self.file.write(data)
        if self.part is None:
            # Readers of an appended file see whole lines only.
            self.file.flush()

    def _commit(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        if self.part is not None:
            self.part.replace(self.target)
        _settle(self.target.parent)

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self.file.close()
        if self.part is not None:
            with contextlib.suppress(OSError):
                self.part.unlink(missing_ok=True)


def _sweep(target: Path, owner: str) -> None:
    """Deletes temporary files of earlier attempts of the run; one that is still running fails at its commit."""
    beginning = f".{target.name}.{owner}-"
    for one in target.parent.iterdir():
        if one.name.startswith(beginning) and one.name.endswith(PART):
            one.unlink(missing_ok=True)


def _ended(descriptor: int) -> BinaryIO:
    """Opens a file for appending, and ends a partial last line that a killed process may have left."""
    file = os.fdopen(descriptor, "ab+")
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.write(b"\n")
    return file


def _settle(directory: Path) -> None:
    """`fsync` of the directory, so that the rename survives a power failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _guarded(step: Callable[[], T]) -> T:
    try:
        return step()
    except OSError as wrong:
        said = wrong.strerror or type(wrong).__name__
        raise Unavailable(f"the file cannot be written: {wrong}", told=f"the file cannot be written: {said}") from None
