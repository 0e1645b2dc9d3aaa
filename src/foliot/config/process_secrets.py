"""The process's own secrets: which they are, and how they leave its environment once they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from foliot.config.database import masked
from foliot.config.parse import Secret
from foliot.config.unknown_keys import LATER, TOKEN

if TYPE_CHECKING:
    from foliot.config.settings import Settings

SHORTEST = 12
"""Characters of a value that is looked for in texts: a shorter password would be found in ordinary words."""
_PASSWORD = re.compile(r"://[^:/@\s]*:(?P<password>.+)@|(?i:password|passwd|pwd|secret|token)=(?P<query>[^&#]+)")
_ENV_START, _ENV_END = 47, 48
"""Of /proc/self/stat, counted after the command's name: where the environment of the start lies in memory."""

_taken: dict[str, str] = {}
"""What this process took out of its environment: it is given on to its own next life, and to nothing else."""


def values_of(settings: Settings) -> tuple[str, ...]:
    """Every key, token and password among the settings, as far as it can be told from ordinary text."""
    found = {part for declared in settings.declared() for part in _revealed(getattr(settings, declared.name))}
    return tuple(sorted(value for value in found if len(value) >= SHORTEST))


def _revealed(value: object) -> Iterator[str]:
    for one in value if isinstance(value, tuple) else (value,):
        text = one.reveal() if isinstance(one, Secret) else one if isinstance(one, str) and masked(one) != one else ""
        if "://" not in text:
            yield text
        for part in text.split(";") if "://" in text else ():
            for match in _PASSWORD.finditer(part):
                password = match["password"] or match["query"]
                yield from (password, unquote(password))


def scrub(environ: MutableMapping[str, str], settings: Settings) -> None:
    """Take the variables with secrets out of `environ`, which children inherit, and out of the kernel's copy of it."""
    secret = {TOKEN, *(key for declared in settings.declared() if declared.secret for key in declared.keys)}
    other = {key for declared in settings.declared() for key in declared.keys} | {key for keys in LATER for key in keys}
    gone = {key for key in environ if key in secret or (key in other and masked(environ[key]) != environ[key])}
    for key in gone:
        _taken[key] = environ.pop(key)
    if gone and environ is os.environ:
        _blank(gone)


def whole(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with what was taken out, for the same command to begin anew."""
    return {**environ, **_taken}


def _blank(keys: AbstractSet[str]) -> None:
    """Overwrite them where /proc/self/environ reads; where there is no such file, nothing reads it either.

    Nothing points there any more: whoever took them out of `os.environ` took them from the C library too.
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
