"""The metadata of one call: its caller and its idempotency key."""

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
"""Bytes of a token or API key; a longer one is refused unread."""
KEY = "idempotency-key"
REPLAYED = "idempotent-replayed"
"""The trailing metadata that marks a stored answer of an idempotent call."""

Metadata = Sequence[tuple[str, str | bytes]]
_VISIBLE = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class AuthorisedCall:
    """One call whose caller is authenticated and has the permission."""

    method: str
    caller: Caller
    metadata: Metadata

    def once(self, request: Message, render: Any) -> IdempotentRequest:
        """The call as an idempotent request; `render` turns the result into the response message."""
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
    """A stored answer as the bytes of its message."""
    return b64decode(body)


def bearer_of(metadata: Metadata) -> str:
    """The bearer token or API key in the metadata; `Unauthenticated` unless there is exactly one."""
    shown = [value for name, value in metadata if name == "authorization"]
    text = shown[0] if len(shown) == 1 and isinstance(shown[0], str) else ""
    scheme, _, bearer = text.partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(bearer) <= MAX_TOKEN:
        raise Unauthenticated
    return bearer


def parse(kind: type[Message], raw: bytes) -> Message:
    """Parse the message; `Invalid` for bytes that are none: the caller's mistake, not an internal error."""
    try:
        return kind.FromString(raw)
    except (DecodeError, RecursionError):
        rule = "cannot be read: it is cut off, another message, nested too deeply, or holds text that is not UTF-8"
        raise Invalid(kind.DESCRIPTOR.name, rule) from None
