"""Removes secret values from everything that is stored, also where they come back encoded."""

from __future__ import annotations

import base64
import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foliot.core.mask import HIDDEN
from foliot.core.secrets import PREFIX

_ESCAPE = re.compile(
    r"\\+(?:u(?P<unit>[0-9A-Fa-f]{4})|x(?P<byte>[0-9A-Fa-f]{2}))?"
    r"|%(?:25)*(?P<percent>[0-9A-Fa-f]{2})"
    r"|&(?:amp;)*(?P<entity>[A-Za-z]{2,8}|\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
    r"|\+"
)
_MARKS = ("\\", "%", "&", "+")


@dataclass(frozen=True, slots=True)
class UnescapedText:
    """An unescaped text, and the original position of each character."""

    text: str
    places: list[int]
    """Where pieces begin in the text: either copied characters, or one that replaces an escape."""
    origins: list[tuple[int, int, bool]]
    """Of each piece: its original start and end, and whether it was copied."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original range of these characters."""
        return self._origin(start)[0], self._origin(end - 1)[1]

    def _origin(self, index: int) -> tuple[int, int]:
        piece = bisect_right(self.places, index) - 1
        start, end, copied = self.origins[piece]
        if not copied:
            return start, end
        at = start + index - self.places[piece]
        return at, at + 1


def unescape(text: str) -> UnescapedText | None:
    """None when the text has no escapes.

    Every backslash is dropped and every plus is a space, even one that was escaped itself; a byte is the Latin-1
    character of its number. What it is compared with must be unescaped in the same way.
    """
    if not any(mark in text for mark in _MARKS):
        return None
    made: list[str] = []
    places: list[int] = []
    origins: list[tuple[int, int, bool]] = []
    size = last = 0

    def add(piece: str, start: int, end: int, *, copied: bool) -> None:
        nonlocal size
        if piece:
            made.append(piece)
            places.append(size)
            origins.append((start, end, copied))
            size += len(piece)

    for found in _ESCAPE.finditer(text):
        add(text[last : found.start()], last, found.start(), copied=True)
        add(_meaning(found), found.start(), found.end(), copied=False)
        last = found.end()
    add(text[last:], last, len(text), copied=True)
    return UnescapedText("".join(made), places, origins)


def _meaning(found: re.Match[str]) -> str:
    number = found["unit"] or found["byte"] or found["percent"]
    if number is not None:
        character = chr(int(number, 16))
    elif found["entity"] is not None:
        character = html.unescape(f"&{found['entity']};")
    else:
        character = found[0][0]
    return {"+": " ", "\\": ""}.get(character, character)


_SHORTEST = 8
"""Minimum length of an encoded form: a shorter one would match text that has nothing to do with it."""
_STUMP = 4
"""At the end of a truncated text, this many characters of a value count as its beginning."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_WORD = re.compile(r"[A-Za-z0-9]+")
_DEPTH = 64


@dataclass(frozen=True, slots=True, repr=False)
class Redactor:
    """Secret values in every encoding, the longest first."""

    forms: tuple[str, ...] = ()
    bare: tuple[tuple[str, str], ...] = ()
    """(core, form) without escapes, to compare with unescaped text; the core is the part that no encoder escapes."""

    @classmethod
    def of(cls, values: Iterable[str], base: Redactor | None = None) -> Redactor:
        """Redacts these values, and those of `base`, whose encodings are reused."""
        each = {text for value in values for text in (value, value.removeprefix(PREFIX))}
        bare = {_bare(form) for value in each for form in _spellings(value)}
        found = {form for value in each for form in _forms(value)}
        if base is not None:
            bare |= {form for _, form in base.bare}
            found |= set(base.forms)
        return cls(_longest_first(found), tuple((_core(form), form) for form in _longest_first(bare)))

    def text(self, text: str, *, cut: bool = False) -> str:
        """The text without the values; if it was `cut`, a partial value at its very end is removed too."""
        if not self.forms:
            return text
        for form in self.forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        likely = [form for core, form in self.bare if len(form) >= _SHORTEST and core in text]
        text = _without_disguised(text, likely) if likely else text
        return self._without_stump(text) if cut else text

    def document(self, value: Any, depth: int = _DEPTH) -> Any:
        """A document without the values, in its keys too. A mapping marked `truncated` has texts that were cut."""
        if not self.forms:
            return value
        match value:
            case str():
                return self.text(value)
            case Mapping() if depth:
                cut = value.get("truncated") is True
                return {
                    self.document(key, 0): self.text(inner, cut=cut)
                    if isinstance(inner, str)
                    else self.document(inner, depth - 1)
                    for key, inner in value.items()
                }
            case list() | tuple() if depth:
                return [self.document(inner, depth - 1) for inner in value]
            case Mapping() | list() | tuple():
                return HIDDEN
            case _:
                return value

    def _without_stump(self, text: str) -> str:
        # A character that was cut in half is part of no form.
        text = text.rstrip("\ufffd")
        for form in self.forms:
            start = text.find(form[:_STUMP], max(0, len(text) - len(form)))
            while start >= 0:
                if form.startswith(text[start:]):
                    return text[:start] + HIDDEN
                start = text.find(form[:_STUMP], start + 1)
        return text


def _without_disguised(text: str, forms: Iterable[str]) -> str:
    undressed = unescape(text)
    if undressed is None:
        return text
    spans = []
    for form in forms:
        start = undressed.text.find(form)
        while start >= 0:
            spans.append(undressed.span(start, start + len(form)))
            start = undressed.text.find(form, start + len(form))
    kept, last = [], 0
    for start, end in sorted(spans):
        if start >= last:
            kept += [text[last:start], HIDDEN]
        last = max(last, end)
    return "".join([*kept, text[last:]])


def _longest_first(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _bare(form: str) -> str:
    undressed = unescape(form)
    return form if undressed is None else undressed.text


def _core(form: str) -> str:
    return max(_WORD.findall(form), key=len, default="")


def _spellings(value: str) -> set[str]:
    """The value, and what it becomes when its bytes are decoded with another charset."""
    raw = value.encode("utf-8", "replace")
    return {value, raw.decode("latin-1"), raw.hex(), raw.hex().upper(), *_base64(raw)}


def _forms(value: str) -> set[str]:
    """All spellings, each also as JSON, URLs and HTML encode it."""
    raw = value.encode("utf-8", "replace")
    percent = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    encoded = {
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        percent,
        percent.replace("%20", "+"),
        percent.replace("%2F", "/"),
        *_spellings(value),
    }
    return {value} | {form for form in encoded if len(form) >= _SHORTEST}


def _base64(raw: bytes) -> set[str]:
    """The base64 characters that do not depend on the surrounding bytes: `user:value` is encoded as one."""
    found: set[str] = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        inner = encoded[(0, 2, 3)[before] : (before + len(raw)) * 4 // 3]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found
