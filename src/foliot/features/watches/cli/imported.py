"""Reads a backup of changedetection.io or a list of URLs, and creates the watches that it names."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from foliot.features.watches.model.imported import ImportedWatches, UnreadableBackup, read_backup, read_urls
from foliot.terminal.client import connect, segment
from foliot.terminal.output import Failure

MOST_BYTES = 64 * 1024 * 1024
INDEXES = ("url-watches.json", "changedetection.json")


def create_each(imported: ImportedWatches, *, active: bool) -> dict[str, list[Any]]:
    done: dict[str, list[Any]] = {"created": [], "taken": [], "refused": []}
    with connect() as client:
        for document in imported.documents:
            try:
                made = client.request("POST", "/api/watches", document)
            except Failure as failed:
                if failed.details.get("status") == 409:
                    done["taken"].append(document["name"])
                elif failed.details.get("status") == 422:
                    done["refused"].append({"name": document["name"], "message": str(failed)})
                else:
                    raise
            else:
                done["created"].append(made["id"])
                if not active or document["name"] in imported.paused:
                    client.request("POST", f"/api/watches/{segment(made['id'])}/pause", {})
    return done


def read_source(source: str, name: str, seconds: float) -> ImportedWatches:
    """What the file holds, by its content."""
    if source == "-":
        return _read_text(sys.stdin.read(MOST_BYTES), name, seconds)
    path = Path(source)
    try:
        if zipfile.is_zipfile(path):
            return _read_zip(path)
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableBackup(f"has more than {MOST_BYTES // 2**20} MiB")
        return _read_text(path.read_text(encoding="utf-8"), name, seconds)
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile) as failed:
        raise UnreadableBackup(f"cannot be read ({getattr(failed, 'strerror', None) or failed})") from None


def _read_text(text: str, name: str, seconds: float) -> ImportedWatches:
    return read_backup(_json(text), {}) if text.lstrip().startswith("{") else read_urls(text, name, seconds)


def _read_zip(path: Path) -> ImportedWatches:
    """Newer versions keep each watch in a file of its own: `<uuid>/watch.json`. Snapshots are not read."""
    with zipfile.ZipFile(path) as packed:
        size = {each.filename: each.file_size for each in packed.infolist()}
        index = next((name for name in INDEXES if name in size), None)
        if index is None:
            raise UnreadableBackup(f"has neither {' nor '.join(INDEXES)}: it is not a backup of changedetection.io")
        single = [name for name in size if name.count("/") == 1 and name.endswith("/watch.json")]
        if sum(size[name] for name in (index, *single)) > MOST_BYTES:
            raise UnreadableBackup(f"its lists of watches have more than {MOST_BYTES // 2**20} MiB")
        watches = {name.partition("/")[0]: _json(packed.read(name)) for name in single}
        return read_backup(_json(packed.read(index)), watches)


def _json(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise UnreadableBackup(f"is no JSON: {wrong}") from None
