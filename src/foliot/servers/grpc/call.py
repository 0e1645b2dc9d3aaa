"""What is known about one call besides its message: who asks, and whether for the second time."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message

from foliot.commands.idempotency import MAX_KEY, IdempotentRequest
from foliot.core.access import Caller
from foliot.core.errors import Invalid, Unauthenticated

MAX_TOKEN = 8 * 1024
"""Bytes of a token or API key; a longer one is not even looked at."""
KEY = "idempotency-key"
REPLAYED = "idempotent-replayed"
"""In the trailing metadata of an answer that was given before."""

Metadata = Sequence[tuple[str, str | bytes]]
_VISIBLE = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class AuthorisedCall:
    """One call of somebody who may make it."""

    method: str
    caller: Caller
    metadata: Metadata

    def once(self, request: Message, render: Any) -> IdempotentRequest:
        """The call as something that may come twice; `render` makes the message that is the answer."""
        digest = hashlib.sha256(f"grpc {self.method}\n".encode())
        digest.update(request.SerializeToString(deterministic=True))

        def written(result: Any) -> str:
            return b64encode(render(result).SerializeToString()).decode()

        return IdempotentRequest(self._key(), digest.hexdigest(), 200, written)

    def _key(self) -> str | None:
        given = [value for name, value in self.metadata if name == KEY]
        if not given:
            return None
        key = given[0]
        if len(given) > 1 or not isinstance(key, str) or len(key) > MAX_KEY or not _VISIBLE.fullmatch(key):
            raise Invalid(KEY, f"must be 1 to {MAX_KEY} visible ASCII characters, once", got=str(key)[:100])
        return key


def given_before(body: str) -> bytes:
    """The answer that was kept, as it goes over the wire."""
    return b64decode(body)


def bearer_of(metadata: Metadata) -> str:
    """The one token or API key that is shown; `Unauthenticated` when there is none."""
    shown = [value for name, value in metadata if name == "authorization"]
    text = shown[0] if len(shown) == 1 and isinstance(shown[0], str) else ""
    scheme, _, bearer = text.partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(bearer) <= MAX_TOKEN:
        raise Unauthenticated
    return bearer


def parse(kind: type[Message], raw: bytes) -> Message:
    """The message in these bytes. Bytes that are none are the caller's mistake, not ours."""
    try:
        return kind.FromString(raw)
    except (DecodeError, RecursionError):
        rule = "cannot be read: it is cut off, another message, nested too deeply, or holds text that is not UTF-8"
        raise Invalid(kind.DESCRIPTOR.name, rule) from None
