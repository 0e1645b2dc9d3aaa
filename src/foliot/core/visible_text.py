"""Refuses invisible characters and bidirectional controls in names, which make a text look like another."""

from __future__ import annotations

import re

from foliot.core.errors import Invalid

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile(
    r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Joiners (U+200C, U+200D) are part of letters and emoji, and are allowed."""


def check_name(where: str, text: str) -> None:
    """`Invalid` when a name or tag contains invisible characters or bidirectional controls."""
    if _CONTROL.search(text):
        raise Invalid(where, "must not contain control characters", got=text)
    check_prose(where, text)
    if found := _INVISIBLE.search(text):
        raise Invalid(where, f"must not contain {_named(found)}, which cannot be seen")


def check_prose(where: str, text: str) -> None:
    """The same for a text of several lines, where only bidirectional controls are refused."""
    if found := _TURNING.search(text):
        raise Invalid(where, f"must not contain {_named(found)}, which changes the direction of what is read")


def _named(found: re.Match[str]) -> str:
    return f"the character U+{ord(found[0]):04X}"
