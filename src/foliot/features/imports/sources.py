"""Reads the source of an import: files, standard input, a database that a scheduler keeps; runs nothing of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foliot.features.imports.model.airflow import read_airflow
from foliot.features.imports.model.apscheduler import read_apscheduler
from foliot.features.imports.model.celery_beat import read_celery_beat
from foliot.features.imports.model.crontab import read_crontab
from foliot.features.imports.model.django_celery_beat import read_django_celery_beat
from foliot.features.imports.model.healthchecks import read_healthchecks
from foliot.features.imports.model.imported import Imported, UnreadableSource
from foliot.features.imports.model.redbeat import read_redbeat
from foliot.features.imports.model.scrapydweb import read_scrapydweb
from foliot.features.imports.model.systemd import read_systemd
from foliot.features.imports.stored_sources import redbeat_definitions, scrapydweb_tasks

MOST_BYTES = 16 * 1024 * 1024
MOST_FILES = 5000


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file of a source."""

    name: str
    text: str


Read = Callable[[Sequence[SourceText], str | None], Imported]
"""Reads the files; the zone is the one that was asked for."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """How a scheduler keeps its entries."""

    read: Callable[[str, str | None], Imported]
    """Called with what names the source, and the zone that was asked for."""


def _files(read: Read, *suffixes: str) -> SourceKind:
    """Files; with suffixes also a directory of them."""
    return SourceKind(lambda source, zone: read(list(_texts(source, suffixes)), zone))


def _file(read: Callable[[SourceText, str | None], Imported]) -> SourceKind:
    return _files(lambda sources, zone: read(sources[0], zone))


def _crontab(source: SourceText, zone: str | None) -> Imported:
    path = Path(source.name)
    users = (path.name == "crontab" and path.parent.name == "etc") or path.parent.name == "cron.d"
    return read_crontab(source.text, zone or machine_zone(), users=users)


def _pairs(sources: Iterable[SourceText]) -> list[tuple[str, str]]:
    return [(source.name, source.text) for source in sources]


KINDS: Mapping[str, SourceKind] = {
    "crontab": _file(_crontab),
    "systemd": _files(
        lambda sources, zone: read_systemd(_pairs(sources), zone or machine_zone()), ".timer", ".service"
    ),
    "celery-beat": _file(lambda source, zone: read_celery_beat(source.text, source.name, zone)),
    "django-celery-beat": _file(lambda source, zone: read_django_celery_beat(source.text, source.name, zone)),
    "redbeat": SourceKind(lambda source, zone: read_redbeat(redbeat_definitions(source), zone)),
    "apscheduler": _file(lambda source, zone: read_apscheduler(source.text, source.name, zone or machine_zone())),
    "airflow": _files(lambda sources, zone: read_airflow(_pairs(sources), zone), ".py"),
    "scrapydweb": SourceKind(lambda source, zone: read_scrapydweb(scrapydweb_tasks(source), zone or machine_zone())),
    "healthchecks": _file(lambda source, zone: read_healthchecks(source.text, source.name, zone)),
}


def read_source(kind: str, source: str, zone: str | None) -> Imported:
    """What the source holds; `UnreadableSource` names the fault."""
    return KINDS[kind].read(source, zone)


def _texts(source: str, suffixes: Sequence[str]) -> Iterable[SourceText]:
    if source == "-":
        yield SourceText("-", sys.stdin.read(MOST_BYTES))
        return
    path = Path(source)
    if not suffixes or not path.is_dir():
        yield _text(path)
        return
    found = sorted(each for each in path.rglob("*") if each.suffix in suffixes and each.is_file())
    if not found or len(found) > MOST_FILES:
        count = f"more than {MOST_FILES} files" if found else "no file"
        raise UnreadableSource(f"{source}: holds {count} named {', '.join(f'*{suffix}' for suffix in suffixes)}")
    yield from map(_text, found)


def _text(path: Path) -> SourceText:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableSource(f"{path}: has more than {MOST_BYTES // 1024**2} MiB")
        return SourceText(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as failed:
        raise UnreadableSource(f"{path}: cannot be read ({getattr(failed, 'strerror', None) or failed})") from None


def machine_zone() -> str:
    """The zone of this machine, by which cron reads its fields; UTC where it is not known by name."""
    if zone := os.environ.get("TZ", "").lstrip(":"):
        return zone
    try:
        _, found, zone = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")
    except OSError:
        return "UTC"
    return zone if found else "UTC"
