"""Writes a long answer to a file, a pipe or a terminal, piece by piece."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from foliot.terminal.output import Exit, Failure, printable

STDOUT = Path("-")


def write(pieces: Iterable[bytes], output: Path | None) -> None:
    """Into the file when one is given, else to standard output."""
    if output is not None and output != STDOUT:
        _save(output, pieces)
    elif sys.stdout.isatty():
        _print_safely(pieces)
    else:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _save(path: Path, pieces: Iterable[bytes]) -> None:
    """The file appears when the download is complete."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        part.replace(path)
    except OSError as failed:
        raise Failure(f"--output: cannot write {str(path)!r} ({failed.strerror or failed})", Exit.USAGE) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _print_safely(pieces: Iterable[bytes]) -> None:
    """For a terminal: control characters in the text are escaped."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            typer.echo(printable(line.decode(errors="replace").removesuffix("\r")))
    if rest:
        typer.echo(printable(rest.decode(errors="replace")))
