"""The process's own secrets: collects them for redaction, and removes them from the environment after parsing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from foliot.config.connections import masked
from foliot.config.parse import LATER, TOKEN, SecretValue

if TYPE_CHECKING:
    from foliot.config.settings import Settings

SHORTEST = 12
"""Minimum length of a value that is redacted: a shorter password would match ordinary words."""
_PASSWORD = re.compile(r"://[^:/@\s]*:(?P<password>.+)@|(?i:password|passwd|pwd|secret|token)=(?P<query>[^&#]+)")
_ENV_START, _ENV_END = 47, 48
"""Fields of /proc/self/stat, after the command's name: the address range of the initial environment in memory."""

_taken: dict[str, str] = {}
"""Variables that this process removed from its environment: passed to its own restart, and to nothing else."""


def values_of(settings: Settings) -> tuple[str, ...]:
    """Every key, token and password of the settings that is long enough to redact."""
    found = {part for declared in settings.declared() for part in _revealed(getattr(settings, declared.name))}
    return tuple(sorted(value for value in found if len(value) >= SHORTEST))


def _revealed(value: object) -> Iterator[str]:
    for one in value if isinstance(value, tuple) else (value,):
        text = (
            one.reveal() if isinstance(one, SecretValue) else one if isinstance(one, str) and masked(one) != one else ""
        )
        if "://" not in text:
            yield text
        for part in text.split(";") if "://" in text else ():
            for match in _PASSWORD.finditer(part):
                password = match["password"] or match["query"]
                yield from (password, unquote(password))


def scrub(environ: MutableMapping[str, str], settings: Settings) -> None:
    """Remove variables with secrets from `environ`, which children inherit, and from the kernel's copy of it."""
    secret = {TOKEN, *(key for declared in settings.declared() if declared.secret for key in declared.keys)}
    other = {key for declared in settings.declared() for key in declared.keys} | {key for keys in LATER for key in keys}
    gone = {key for key in environ if key in secret or (key in other and masked(environ[key]) != environ[key])}
    for key in gone:
        _taken[key] = environ.pop(key)
    if gone and environ is os.environ:
        _blank(gone)


def whole(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with the removed variables, to restart the same command."""
    return {**environ, **_taken}


def _blank(keys: AbstractSet[str]) -> None:
    """Overwrite them where /proc/self/environ reads; without that file there is nothing to overwrite.

    Nothing refers to that memory any more: removal from `os.environ` also removes them from the C library.
    """
    try:
        stat = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        start, end = int(stat[_ENV_START]), int(stat[_ENV_END])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            kept = [_kept(entry, keys) for entry in memory.read(end - start).split(b"\0")]
            memory.seek(start)
            memory.write(b"\0".join(kept))
    except (OSError, ValueError, IndexError):
        return


def _kept(entry: bytes, keys: AbstractSet[str]) -> bytes:
    return b"\0" * len(entry) if entry.partition(b"=")[0].decode("utf-8", "replace") in keys else entry
