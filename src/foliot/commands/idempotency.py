"""One effect per idempotency key: the key's row is the first thing the effect's transaction writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.commands.idempotency_sql import SqlIdempotencyKeys
from foliot.core.access import Caller
from foliot.core.errors import Conflict, KeyReused
from foliot.db.transaction import Transaction

MAX_KEY = 200


class AnsweredBefore(Exception):
    """The request with this key has already been answered; it has no second effect."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        super().__init__(f"answered before with {status}")
        self.status = status
        self.body = body
        self.headers = headers


def _no_headers(_: Any) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """The idempotency key of a request, and how its answer is stored. Without a key every request is new."""

    key: str | None = None
    fingerprint: str = ""
    status: int = 200
    render: Callable[[Any], str] = str
    """How the interface encodes the answer, so that a repeated request gets the same bytes."""
    headers: Callable[[Any], Mapping[str, str]] = _no_headers
    """The same for the headers of the answer."""
    secret: bool = False
    """The answer contains a secret: it is shown once, and not stored."""

    async def begin(self, tx: Transaction, caller: Caller, now: datetime) -> None:
        """Reserve the key; `AnsweredBefore`, `KeyReused` or `Conflict` when it was used before."""
        if self.key is None:
            return
        earlier = await SqlIdempotencyKeys(tx).begin(caller.tenant_id, self.key, self.fingerprint, now)
        if earlier is None:
            return
        if earlier.fingerprint != self.fingerprint or earlier.status is None:
            raise KeyReused(self.key)
        if earlier.body is None:
            raise Conflict(
                f"the request with the idempotency key {self.key!r} has been answered: its answer held a secret"
                " and was shown once; ask anew with another key"
            )
        raise AnsweredBefore(earlier.status, earlier.body, earlier.headers)

    async def keep(self, tx: Transaction, caller: Caller, result: object) -> None:
        """Store the answer. Errors roll the key back with everything else, so only successes are kept."""
        if self.key is None:
            return
        body, headers = (None, None) if self.secret else (self.render(result), self.headers(result))
        await SqlIdempotencyKeys(tx).answer(caller.tenant_id, self.key, self.status, body, headers)


EACH_TIME = IdempotentRequest()
