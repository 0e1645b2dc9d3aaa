"""Checks the environment: unused keys, egress rules, directories and file permissions."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding, rule
from foliot.cli.volatile import FORGETS, volatile

if TYPE_CHECKING:
    from foliot.config.settings import Settings


def check(settings: Settings) -> list[Finding]:
    return _egress(settings) + _directories(settings) + _file_mode(settings)


def unused() -> list[Finding]:
    from foliot.config import unknown_keys

    return [
        Finding("warning", key, f"accepted but not used in this version ({purpose})")
        for key, purpose in unknown_keys.unused(os.environ)
    ]


def _egress(settings: Settings) -> list[Finding]:
    from foliot.core.errors import Invalid
    from foliot.net.allow import EgressRules

    try:
        EgressRules.read(loopback=settings.local, allow=settings.egress_allow, ports=settings.egress_ports)
    except Invalid as wrong:
        return [Finding("error", wrong.field, rule(wrong))]
    return []


def _directories(settings: Settings) -> list[Finding]:
    """Whether directories are writable; for one that does not exist yet, its nearest parent counts."""
    findings = []
    for key, path in (("FOLIOT_HOME", settings.home), ("FOLIOT_LOG_DIR", settings.log_dir)):
        if path is None:
            continue
        nearest = next(place for place in (path, *path.parents) if place.exists())
        if not nearest.is_dir():
            findings.append(Finding("error", key, f"must be a directory, got {path}: {nearest} is a file"))
        elif not os.access(nearest, os.W_OK | os.X_OK):
            findings.append(Finding("error", key, f"must be writable by this user, got {path}"))
        else:
            findings.append(Finding("ok", key, str(path)))
    if kind := volatile(settings.home):
        findings.append(Finding("warning", "FOLIOT_HOME", FORGETS.format(path=settings.home, kind=kind)))
    return findings


def _file_mode(settings: Settings) -> list[Finding]:
    """Whether other users of this machine can read the database file; new ones are created private."""
    path = settings.sqlite_path
    mode = stat.S_IMODE(path.stat().st_mode) if path is not None and path.exists() else 0
    if os.name != "posix" or not mode & 0o077:
        return []
    return [Finding("warning", "DATABASE_URL", f"{path} is open to others (mode {mode:04o}): run chmod 600 {path}")]
