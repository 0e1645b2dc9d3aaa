"""Checks the settings: unused keys, egress rules, directories, file permissions, and keys of tokens and secrets.

Checks whether the database accepts the connections of all processes, and whether wake-ups reach them.

Checks the file of pipelines, and the modules of tasks and transforms.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from foliot.cli.check import Finding, rule
from foliot.cli.volatile import FORGETS, volatile
from foliot.terminal.output import Failure, count

if TYPE_CHECKING:
    from foliot.config.settings import Settings


def check_settings(settings: Settings) -> list[Finding]:
    return _egress(settings) + _directories(settings) + _file_mode(settings)


def unused() -> list[Finding]:
    from foliot.config import parse

    return [
        Finding("warning", key, f"accepted but not used by a server ({purpose})")
        for key, purpose in parse.unused(os.environ)
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


async def check_access(settings: Settings) -> list[Finding]:
    """The source of token verification, and the master key."""
    if settings.local:
        return [Finding("ok", "FOLIOT_HOST", f"{settings.host}: local mode, which needs no tokens")]
    if not settings.checks_tokens:
        return [Finding("ok", "FOLIOT_LOCAL", "off: this process verifies no tokens"), *_vault(settings)]
    return [await _source(settings), *_vault(settings)]


async def _source(settings: Settings) -> Finding:
    if settings.jwt_secret is not None:
        return Finding("ok", "FOLIOT_JWT_SECRET", "verifies tokens (HS256)")
    if settings.jwks_url is not None:
        return await _provider(settings)
    from foliot.auth.verification_keys import key_file
    from foliot.core.errors import Invalid

    path = settings.jwt_key_file
    assert path is not None  # noqa: S101 -- one of the three is set where it is not local
    try:
        key_file(path)
    except Invalid as wrong:
        return Finding("error", wrong.field, rule(wrong))
    return Finding("ok", "FOLIOT_JWT_KEY_FILE", f"{path} verifies tokens")


async def _provider(settings: Settings) -> Finding:
    from foliot.auth.verification_keys import BadKeys
    from foliot.core.egress import EgressFailed, EgressRefused
    from foliot.db.clock import StoreClock
    from foliot.features.api_keys import wiring

    key = "FOLIOT_JWKS_URL"
    jwks, egress = wiring.provider(settings, StoreClock())
    try:
        async with egress:
            keys = len((await jwks.fetch()).named)
    except (EgressRefused, EgressFailed, BadKeys) as failed:
        return Finding("error", key, f"must answer with a JWKS document, got {settings.jwks_url}: {failed}")
    if not keys:
        return Finding("error", key, f"has no key that can verify a signature, got {settings.jwks_url}")
    return Finding("ok", key, f"{settings.jwks_url} has {count(keys, 'usable key')}")


def _vault(settings: Settings) -> list[Finding]:
    key = "FOLIOT_SECRET_KEY"
    if settings.secret_key:
        return [Finding("ok", key, f"{len(settings.secret_key)} given; the first encrypts")]
    if settings.jwt_secret is not None:
        return [
            Finding(
                "warning",
                key,
                "not set: the master key is derived from FOLIOT_JWT_SECRET, so changing that one makes secrets "
                "and API keys unreadable; set one of at least 32 characters",
            )
        ]
    return [Finding("warning", key, "not set: API keys and secrets answer 409 until it is")]


KEY = "FOLIOT_SERVER_PROCESSES"


async def check_processes(settings: Settings) -> list[Finding]:
    if settings.server_processes == 1:
        return []
    from foliot.app.database import connections
    from foliot.core.errors import FoliotError

    try:
        each, allowed = await connections(settings)
    except (FoliotError, OSError):
        # The check of the database reports it.
        return []
    wanted = settings.server_processes * each
    shown = f"{settings.server_processes} processes open up to {wanted} connections"
    if allowed is not None and wanted >= allowed:
        text = f"{shown}, and the database accepts {allowed}: raise its max_connections, or start fewer processes"
        findings = [Finding("warning", KEY, text)]
    else:
        findings = [Finding("ok", KEY, f"{shown}; the database accepts {allowed}")]
    if not settings.is_postgresql and settings.redis_url is None:
        text = "on MariaDB processes wake each other through Redis only: set REDIS_URL, or they poll every second"
        findings.append(Finding("warning", KEY, text))
    return findings


PIPELINES_KEY = "FOLIOT_PIPELINES"


def check_pipelines(settings: Settings) -> list[Finding]:
    """Whether each pipeline is valid. Foliot starts without invalid ones and keeps their previous version: a warning,
    because this command also serves as a readiness check.
    """
    if settings.pipelines is None:
        return []
    from foliot.cli.pipeline_run import read_file

    try:
        sheet = read_file(settings, settings.pipelines)
    except Failure as failed:
        return [Finding("warning", PIPELINES_KEY, str(failed))]
    faults = [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]
    good = [one.name for one in sheet.pipelines if one.definition is not None]
    result = [Finding("warning", PIPELINES_KEY, str(fault)) for fault in faults]
    if good:
        result.append(
            Finding("ok", PIPELINES_KEY, f"{count(len(good), 'pipeline')} of {settings.pipelines}: {', '.join(good)}")
        )
    return result


TASKS_KEY = "FOLIOT_TASKS"


def check_tasks(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and runs of their tasks fail."""
    from foliot.features.tasks.wiring import load

    catalogue = load(settings.tasks)
    wrong = [Finding("error", TASKS_KEY, fault.removeprefix(f"{TASKS_KEY}: ")) for fault in catalogue.faults()]
    if not catalogue.names():
        return wrong
    listed = ", ".join(catalogue.names())
    return [
        *wrong,
        Finding("ok", TASKS_KEY, f"{count(len(catalogue.names()), 'task')} besides the built-in ones: {listed}"),
    ]


TRANSFORMS_KEY = "FOLIOT_TRANSFORMS"


def check_transforms(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and pipelines that need them are refused."""
    from foliot.features.pipelines.wiring import load

    catalogue = load(settings.transforms)
    wrong = [
        Finding("error", TRANSFORMS_KEY, fault.removeprefix(f"{TRANSFORMS_KEY}: ")) for fault in catalogue.faults()
    ]
    own = [view.name for view in catalogue.views() if not view.built_in]
    if not own:
        return wrong
    listed = f"{count(len(own), 'transform')} besides the built-in ones: {', '.join(own)}"
    return [*wrong, Finding("ok", TRANSFORMS_KEY, listed)]
