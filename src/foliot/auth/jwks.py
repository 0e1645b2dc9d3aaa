"""Fetches the public keys of an identity provider (JWKS) periodically, never because of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot import __version__
from foliot.auth.verification_keys import LARGEST_FILE, BadKeys, KeySet, VerificationKey, key_set
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock

PERIOD = 60.0
AGAIN = 5.0
"""Seconds until the next try when one failed."""
TIMEOUT = timedelta(seconds=3)

log = structlog.get_logger("foliot.auth")


@dataclass(frozen=True, slots=True)
class KeysFetched:
    """How many keys are known, and whether this round fetched them."""

    keys: int
    fresh: bool
    rest: float


@dataclass(slots=True, kw_only=True)
class Jwks:
    """The last valid answer stays in force until the next one."""

    url: str
    egress: Egress
    clock: Clock
    name: str = "jwks"
    topics: Sequence[str] = ()
    error: str | None = field(default=None, init=False)
    fetched_at: datetime | None = field(default=None, init=False)
    _keys: KeySet | None = field(default=None, init=False)

    def find(self, kid: str | None) -> VerificationKey | None:
        if self._keys is None:
            raise Unavailable("the keys that tokens are checked by have not been fetched yet (FOLIOT_JWKS_URL)")
        return self._keys.find(kid)

    def problems(self) -> list[str]:
        """Problems to show in the health report."""
        if self.error is None:
            return []
        since = "never" if self.fetched_at is None else f"last at {self.fetched_at:%Y-%m-%d %H:%M:%S}Z"
        return [f"the keys of FOLIOT_JWKS_URL cannot be fetched ({self.error}); {since}"]

    async def run_once(self) -> KeysFetched:
        try:
            found = await self.fetch()
        except (EgressRefused, EgressFailed, BadKeys) as failed:
            self._tell(str(failed))
            known = 0 if self._keys is None else len(self._keys.named)
            return KeysFetched(known, fresh=False, rest=AGAIN)
        if self.error is not None or self._keys is None or set(found.named) != set(self._keys.named):
            log.info("keys were fetched", action="jwks_fetched", keys=len(found.named))
        self._keys = found if self._keys is None else _kept(self._keys, found)
        self.error, self.fetched_at = None, self.clock.now()
        return KeysFetched(len(found.named), fresh=True, rest=PERIOD)

    async def fetch(self) -> KeySet:
        """The provider's current keys; raises when the answer cannot be used."""
        reply = await self.egress.send(
            OutgoingRequest(
                method="GET",
                url=self.url,
                headers={"Accept": "application/json", "User-Agent": f"Foliot/{__version__}"},
                timeout=TIMEOUT,
                keep=LARGEST_FILE,
                most=LARGEST_FILE,
            )
        )
        if reply.status != 200:
            raise BadKeys(f"it answered {reply.status}")
        if reply.truncated:
            raise BadKeys(f"it has more than {LARGEST_FILE // 1024} KiB")
        return key_set(reply.body)

    def _tell(self, error: str) -> None:
        if error != self.error:
            log.warning("keys could not be fetched", action="jwks_failed", error=error, known=self._keys is not None)
        self.error = error


def _kept(before: KeySet, after: KeySet) -> KeySet:
    """An unchanged key stays the same object, so that tokens verified with it stay cached."""
    return KeySet(
        {
            kid: before.named[kid] if kid in before.named and before.named[kid] == key else key
            for kid, key in after.named.items()
        }
    )
