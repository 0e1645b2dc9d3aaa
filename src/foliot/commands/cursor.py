"""Pagination cursors: opaque text, signed for one tenant and one list."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from foliot.auth.identity import Pepper
from foliot.core.errors import Invalid

PURPOSE = "cursor"
_SIGNED = 24
_PLACE = re.compile(r"[^\x00-\x1f\x7f]{1,256}")


@dataclass(frozen=True, slots=True)
class Cursors:
    """Signs and verifies the cursors of one list of one tenant. Local mode has one tenant, and no signing key."""

    pepper: Pepper | None
    place_of: str

    def seal(self, place: str) -> str:
        sealed = f"{self._signatures(place)[0]}{place}"
        return urlsafe_b64encode(sealed.encode()).decode().rstrip("=")

    def open(self, cursor: str) -> str:
        """The position in the list; `Invalid` when the signature is not ours."""
        try:
            sealed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        except (ValueError, binascii.Error):
            sealed = ""
        signature, place = sealed[:_SIGNED], sealed[_SIGNED:]
        ours = _PLACE.fullmatch(place) and any(
            hmac.compare_digest(signature.encode(), one.encode()) for one in self._signatures(place)
        )
        if not ours:
            raise Invalid("cursor", "is not a next_cursor of this list in this order", got=cursor)
        return place

    def _signatures(self, place: str) -> list[str]:
        """Signatures by every key, newest first; a cursor stays valid when a key is rotated."""
        text = f"{self.place_of}\n{place}"
        if self.pepper is None:
            return [hashlib.sha256(text.encode()).hexdigest()[:_SIGNED]]
        return [digest[:_SIGNED] for _, digest in self.pepper.digests(PURPOSE, text)]
