"""What `foliot check` says about who may come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foliot.cli.printing import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """Something `foliot check` has to say."""

    level: str
    key: str
    message: str


async def entrance(settings: Settings) -> list[Finding]:
    """What tokens are checked by, and what seals."""
    if settings.local:
        return [Finding("ok", "FOLIOT_HOST", f"{settings.host}: local mode, which asks nobody for a token")]
    if not settings.checks_tokens:
        return [Finding("ok", "FOLIOT_LOCAL", "off: this process checks no tokens"), *_vault(settings)]
    return [await _source(settings), *_vault(settings)]


async def _source(settings: Settings) -> Finding:
    if settings.jwt_secret is not None:
        return Finding("ok", "FOLIOT_JWT_SECRET", "checks tokens (HS256)")
    if settings.jwks_url is not None:
        return await _provider(settings)
    from foliot.auth.verification_keys import key_file
    from foliot.core.errors import Invalid

    path = settings.jwt_key_file
    assert path is not None  # noqa: S101 -- one of the three is set where it is not local
    try:
        key_file(path)
    except Invalid as wrong:
        return Finding("error", wrong.field, str(wrong).removeprefix(f"{wrong.field}: "))
    return Finding("ok", "FOLIOT_JWT_KEY_FILE", f"{path} checks tokens")


async def _provider(settings: Settings) -> Finding:
    from foliot.auth.verification_keys import BadKeys
    from foliot.core.egress import EgressFailed, EgressRefused
    from foliot.db.clock import StoreClock
    from foliot.features.api_keys import wiring

    key = "FOLIOT_JWKS_URL"
    jwks, egress = wiring.provider(settings, StoreClock())
    try:
        async with egress:
            found = len((await jwks.fetch()).named)
    except (EgressRefused, EgressFailed, BadKeys) as failed:
        return Finding("error", key, f"must answer with a JWKS document, got {settings.jwks_url}: {failed}")
    if not found:
        return Finding("error", key, f"holds no key that can check a signature, got {settings.jwks_url}")
    return Finding("ok", key, f"{settings.jwks_url} has {count(found, 'usable key')}")


def _vault(settings: Settings) -> list[Finding]:
    key = "FOLIOT_SECRET_KEY"
    if settings.secret_key:
        return [Finding("ok", key, f"{len(settings.secret_key)} given; the first seals")]
    if settings.jwt_secret is not None:
        return [
            Finding(
                "warning",
                key,
                "not set: the master key is derived from FOLIOT_JWT_SECRET, so that changing that one makes secrets "
                "and API keys unreadable; set one of at least 32 characters",
            )
        ]
    return [Finding("warning", key, "not set: API keys and secrets answer 409 until it is")]
