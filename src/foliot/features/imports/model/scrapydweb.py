"""Timer tasks of ScrapydWeb: rows of its database, with the fields of APScheduler's cron trigger."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from foliot.features.imports.model.apscheduler import CLOCKS, FIELDS, cron_trigger, job_policies, moment_of
from foliot.features.imports.model.imported import Imported, UnknownTerm, changes_clocks, checked_zone

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_LATEST = "default: the latest version"


def read_scrapydweb(rows: Sequence[Mapping[str, Any]], zone: str) -> Imported:
    """Every task; `zone` is that of the machine, for tasks that name none."""
    imported = Imported("scrapydweb")
    named = checked_zone(zone)
    for row in rows:
        title = str(row.get("name") or f"task {row.get('id')}")
        try:
            _add(imported, title, row, named)
        except UnknownTerm as unknown:
            imported.left_out(title, unknown)
        except (ValueError, TypeError):
            imported.left_out(title, "its row cannot be read")
    imported.note("whether a task was paused is kept elsewhere by ScrapydWeb and not read")
    return imported


def _add(imported: Imported, title: str, row: Mapping[str, Any], zone: str) -> None:
    if (kind := row.get("trigger") or "cron") != "cron":
        raise UnknownTerm(f"the trigger {kind!r} is not known")
    local = checked_zone(str(row.get("timezone") or zone))
    given = {name: row[name] for name in FIELDS if row.get(name) not in {None, ""}}
    trigger = cron_trigger(given, local)
    for name, column in (("start_at", "start_date"), ("end_at", "end_date")):
        if moment := moment_of(row.get(column) or None, local):
            trigger[name] = moment
    options = {name: row.get(name) for name in ("misfire_grace_time", "coalesce", "max_instances", "jitter")}
    options = {name: _number(value) for name, value in options.items()}
    options["coalesce"] = bool(options["coalesce"])
    name = imported.add(
        title,
        trigger,
        _action(imported, title, row),
        description=f"Task {row.get('id')} of ScrapydWeb.",
        **job_policies(options),
    )
    if row.get("version") not in {None, "", _LATEST}:
        imported.note(f"version {row['version']}: crawls use the newest version that is deployed", name)
    if row.get("selected_nodes"):
        imported.note("nodes are not chosen by a schedule: the least loaded of SCRAPYD_URL gets a crawl")
    if changes_clocks(local):
        imported.note(CLOCKS.format(zone=local))


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _action(imported: Imported, title: str, row: Mapping[str, Any]) -> dict[str, Any]:
    action: dict[str, Any] = {"kind": "crawl", "spider": str(row["spider"]), "project": str(row["project"])}
    given = json.loads(row.get("settings_arguments") or "{}")
    if not isinstance(given, dict):
        raise UnknownTerm("its settings and arguments cannot be read")
    params = {}
    for name, value in given.items():
        if name == "setting":
            if value:
                imported.note(f"settings are not passed on: {', '.join(map(str, value))}", title)
        elif name == "start_urls":
            action["start_urls"] = [url for url in str(value).split(",") if url]
        elif not _NAME.fullmatch(name):
            imported.note(f"the argument {name!r} is not passed on", title)
        else:
            params[name] = value
    if params:
        action["params"] = params
    return action
