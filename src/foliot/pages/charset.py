"""Decodes the bytes of a page: by BOM or valid UTF-8, else by the Content-Type, the page's own label, or detection."""

from __future__ import annotations

import cchardet
from w3lib.encoding import (
    html_body_declared_encoding,
    html_to_unicode,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
)

from foliot.core.limits import NOT_WEB

_SAMPLE = 64 * 1024
_SURE = 0.5
_ESCAPE = b"\x1b"
_LOST = "\ufffd"
_MOST_LOST = 1 / 500
"""A larger share of undecodable characters means that the declared encoding is wrong."""


def decoded(body: bytes, content_type: str) -> str:
    """The page as text, without characters that databases cannot store."""
    text = _certain(body)
    if text is None:
        text = _declared(body, content_type)
    return text.replace("\x00", "")


def text_of_body(body: bytes, content_type: str) -> dict[str, str]:
    """`decoded` with a JSON result; for a separate process, because detection reads a stranger's bytes."""
    return {"text": decoded(body, content_type)}


def valid_utf8(body: bytes) -> str | None:
    """The page as text where it is UTF-8 throughout, which needs no detection; None where it is not."""
    if body.isascii() and _ESCAPE in body:
        return None
    try:
        return body.decode().removeprefix("\ufeff").replace("\x00", "")
    except UnicodeDecodeError:
        return None


def _certain(body: bytes) -> str | None:
    """A byte order mark, or bytes that are valid UTF-8 throughout, outweigh any label."""
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None:
        return body[len(mark) :].decode(encoding, "replace")
    # Old Japanese and Korean encodings look like ASCII; they switch by escapes.
    if body.isascii() and _ESCAPE in body:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _declared(body: bytes, content_type: str) -> str:
    if (http_content_type_encoding(content_type) or html_body_declared_encoding(body)) in NOT_WEB:
        return body.decode("utf-8", "replace")
    _, text = html_to_unicode(content_type, body, default_encoding="utf-8", auto_detect_fun=_guess)
    if text.count(_LOST) > len(text) * _MOST_LOST and (guessed := _guess(body)) is not None:
        other = body.decode(guessed, "replace")
        if other.count(_LOST) < text.count(_LOST):
            text = other
    return text.encode("utf-8", "replace").decode()


def _guess(body: bytes) -> str | None:
    found = cchardet.detect(body[:_SAMPLE])
    sure = found.get("confidence") or 0
    # The detector names encodings that Python has no codec for, such as VISCII.
    return resolve_encoding(found["encoding"]) if found.get("encoding") and sure >= _SURE else None
