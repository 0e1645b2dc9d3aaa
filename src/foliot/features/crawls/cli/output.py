"""How crawls are shown: what was asked for, where it stands, what it brought home."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from foliot.features.crawls.cli.log import summary
from foliot.terminal.output import Exit, Failure, count, facts, moment, note, print_json, printable, table

if TYPE_CHECKING:
    from foliot.features.crawls.cli.deploy import Deployed


def show_made(made: dict[str, Any], *, utc: bool) -> None:
    """What became of a request."""
    cached = f"since {moment(made.get('cached_at'), utc=utc)}" if made.get("cached") else None
    facts(
        [
            ("job", made["job_id"]),
            ("planned", "yes" if made["scheduled"] else None),
            ("next", moment(made.get("next_run"), utc=utc)),
            ("asked for before", cached),
        ]
    )
    if not made["scheduled"]:
        note(f"foliot crawl logs {made['job_id']} --follow shows what it does")


def show_status(found: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(found)
        return
    facts(
        [
            ("job", found["job_id"]),
            ("status", found["status"]),
            ("state", found["state"]),
            ("run", found["run_id"] if found["run_id"] != found["job_id"] else None),
            ("created", moment(found["created_at"], utc=utc)),
            ("started", moment(found["started_at"], utc=utc)),
            ("finished", moment(found["finished_at"], utc=utc)),
            ("next", moment(found["next_run"], utc=utc)),
            ("at Scrapyd", found["spider_job_id"]),
            ("progress", progress_of(found)),
            ("error", (found.get("error") or {}).get("message")),
        ]
    )


def progress_of(found: dict[str, Any]) -> str:
    return summary(found.get("progress") or {})


def say_end(ended: dict[str, Any], progress: str) -> None:
    """The last word, beside the log and not in it."""
    error = (ended.get("error") or {}).get("message")
    note(f"{ended['status']}" + (f": {progress}" if progress else "") + (f" -- {error}" if error else ""))


def save(path: Path, pieces: Iterable[bytes]) -> None:
    """The file appears when it is whole; half of a download is none."""
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


def pour(pieces: Iterable[bytes]) -> None:
    """As they are, for a file or a program."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def print_safely(pieces: Iterable[bytes]) -> None:
    """For a terminal, which a page's text must not steer."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            typer.echo(printable(line.decode(errors="replace").removesuffix("\r")))
    if rest:
        typer.echo(printable(rest.decode(errors="replace")))


def show_deployed(told: Sequence[Deployed], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(each) for each in told])
        return
    rows = [
        (each.node, each.project, each.version, each.error or f"taken, with {count(each.spiders, 'spider')}")
        for each in told
    ]
    table(("node", "project", "version", "answer"), rows, empty="")
