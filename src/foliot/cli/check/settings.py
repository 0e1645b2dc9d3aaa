"""Checks the settings: unused keys, egress rules, directories, file permissions, and keys of tokens and secrets."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from foliot.cli.check import Finding, rule
from foliot.cli.volatile import FORGETS, volatile
from foliot.terminal.output import count

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
