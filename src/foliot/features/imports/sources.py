"""Reads the source of an import: a file, a directory of files, or standard input; runs nothing of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from foliot.features.imports.model.apscheduler import read_apscheduler
from foliot.features.imports.model.celery_beat import read_celery_beat
from foliot.features.imports.model.crontab import read_crontab
from foliot.features.imports.model.django_celery_beat import read_django_celery_beat
from foliot.features.imports.model.imported import Imported, UnreadableSource

MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file of a source."""

    name: str
    text: str


Read = Callable[[SourceText, str | None], Imported]
"""Reads one file; the zone is the one that was asked for."""


def _crontab(source: SourceText, zone: str | None) -> Imported:
    path = Path(source.name)
    users = (path.name == "crontab" and path.parent.name == "etc") or path.parent.name == "cron.d"
    return read_crontab(source.text, zone or machine_zone(), users=users)


KINDS: Mapping[str, Read] = {
    "crontab": _crontab,
    "celery-beat": lambda source, zone: read_celery_beat(source.text, source.name, zone),
    "django-celery-beat": lambda source, zone: read_django_celery_beat(source.text, source.name, zone),
    "apscheduler": lambda source, zone: read_apscheduler(source.text, source.name, zone or machine_zone()),
}


def read_source(kind: str, source: str, zone: str | None) -> Imported:
    """What the file, or `-`, holds; `UnreadableSource` names the fault."""
    return KINDS[kind](_text(source), zone)


def _text(source: str) -> SourceText:
    if source == "-":
        return SourceText("-", sys.stdin.read(MOST_BYTES))
    path = Path(source)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableSource(f"{source}: has more than {MOST_BYTES // 1024**2} MiB")
        return SourceText(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as failed:
        raise UnreadableSource(f"{source}: cannot be read ({getattr(failed, 'strerror', None) or failed})") from None


def machine_zone() -> str:
    """The zone of this machine, by which cron reads its fields; UTC where it is not known by name."""
    if zone := os.environ.get("TZ", "").lstrip(":"):
        return zone
    try:
        _, found, zone = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")
    except OSError:
        return "UTC"
    return zone if found else "UTC"
