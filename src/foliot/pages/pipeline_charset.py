"""Turns the bytes of an answer into text: by what is certain, else by what the server says, or the page, or a guess."""

from __future__ import annotations

import cchardet
from w3lib.encoding import html_body_declared_encoding, html_to_unicode, http_content_type_encoding, read_bom

from foliot.core.page_bounds import NOT_WEB

_SAMPLE = 64 * 1024
_SURE = 0.5


def decoded(body: bytes, content_type: str) -> str:
    """As text that JSON and databases can hold."""
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None:
        return _kept(body[len(mark) :].decode(encoding, "replace"))
    try:
        return _kept(body.decode())
    except UnicodeDecodeError:
        declared = http_content_type_encoding(content_type) or html_body_declared_encoding(body)
        if declared in NOT_WEB:
            return _kept(body.decode("utf-8", "replace"))
        _, text = html_to_unicode(content_type, body, default_encoding="utf-8", auto_detect_fun=_guess)
        return _kept(text.encode("utf-8", "replace").decode())


def _kept(text: str) -> str:
    return text.replace("\x00", "")


def _guess(body: bytes) -> str | None:
    found = cchardet.detect(body[:_SAMPLE])
    return found["encoding"] if found.get("encoding") and (found.get("confidence") or 0) >= _SURE else None
