"""The master key of local mode: a file that only its owner can read, created when first needed."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

from foliot.auth.keyring import SHORTEST
from foliot.core.errors import Unavailable

NAME = "secret.key"


class BadKeyFile(Unavailable):
    """The key file is unsafe or unreadable."""


def has_key(home: Path) -> bool:
    """Whether there is a key file that this process can see."""
    try:
        return (home / NAME).exists()
    except OSError:
        return False


def key_of(home: Path) -> str:
    """The key in `home`, created when there is none. Two processes that create one at once agree on the first."""
    path = home / NAME
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise BadKeyFile(f"{path} cannot be used as the key file: {error.strerror or error}") from None


def _read(path: Path) -> str:
    # One descriptor for both: the file that was checked is the file that is read.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), encoding="ascii") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and mode & 0o077:
            raise BadKeyFile(f"{path} can be read or written by others (mode {mode:04o}): run chmod 600 {path}")
        try:
            key = file.read(4096).strip()
        except UnicodeDecodeError:
            key = ""
    if len(key) < SHORTEST:
        raise BadKeyFile(f"{path} must hold a key of at least {SHORTEST} characters: put the file back from a backup")
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made, name = tempfile.mkstemp(dir=path.parent, prefix=f".{NAME}.")
    try:
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()
