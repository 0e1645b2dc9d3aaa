"""Stored pages as WARC 1.1 (ISO 28500), each record compressed by itself, as archives and their tools expect."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b32encode
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from uuid import UUID, uuid5

from foliot.features.stored_pages.model import StoredPage

WARC = "application/warc"
_NAMES = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
"""The namespace of URLs: a page has the same record ids in every export."""
_OF_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
_LINE_ENDS = str.maketrans({"\r": " ", "\n": " ", "\x00": " "})


def head(software: str, now: datetime) -> bytes:
    """The first record: what wrote the archive, and in which format."""
    body = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    named = {"WARC-Type": "warcinfo", "WARC-Date": _moment(now), "Content-Type": "application/warc-fields"}
    return _record(named, uuid5(_NAMES, f"{software} {_moment(now)}"), body)


def records(page: StoredPage, body: bytes, rendered: bytes | None) -> bytes:
    """The answer as it was received, but decompressed; and the rendered document as its conversion."""
    answer = uuid5(_NAMES, page.id)
    found = _record(
        {
            "WARC-Type": "response",
            "WARC-Target-URI": _line(page.url),
            "WARC-Date": _moment(page.fetched_at),
            "WARC-Payload-Digest": f"sha1:{b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}",
            "Content-Type": "application/http; msgtype=response",
        },
        answer,
        _http(page, body),
    )
    if rendered is None:
        return found
    converted = {
        "WARC-Type": "conversion",
        "WARC-Target-URI": _line(page.url),
        "WARC-Date": _moment(page.fetched_at),
        "WARC-Refers-To": f"<urn:uuid:{answer}>",
        "Content-Type": "text/html; charset=utf-8",
    }
    return found + _record(converted, uuid5(_NAMES, f"{page.id} rendered"), rendered)


def _http(page: StoredPage, body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(page.status).phrase
    except ValueError:
        phrase = ""
    kept = {name: value for name, value in page.headers.items() if name.lower() not in _OF_TRANSFER}
    lines = [f"HTTP/1.1 {page.status} {phrase}", *(f"{_line(name)}: {_line(value)}" for name, value in kept.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("utf-8", "replace") + body


def _record(named: Mapping[str, str], record_id: UUID, body: bytes) -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Record-ID: <urn:uuid:{record_id}>",
        *(f"{name}: {value}" for name, value in named.items()),
    ]
    text = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("utf-8", "replace")
    return gzip.compress(text + body + b"\r\n\r\n", mtime=0)


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _line(text: str) -> str:
    """Without line ends: a header of a stranger's answer is one line of ours."""
    return text.translate(_LINE_ENDS)
