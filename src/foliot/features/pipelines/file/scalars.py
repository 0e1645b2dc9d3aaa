"""Resolves plain scalars: by YAML 1.2's core schema, and refuses those that YAML 1.1 reads differently."""

from __future__ import annotations

import math
import re
from typing import Any

LARGEST = 2**63 - 1
_LONGEST_NUMBER = 40

_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_NOWHERE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_SWITCHES = {
    word: meaning
    for meaning, words in {"true": ("yes", "on"), "false": ("no", "off")}.items()
    for bare in words
    for word in (bare, bare.capitalize(), bare.upper())
}
_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OTHER_NUMBERS = re.compile(r"[-+]?(?:0[0-9_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?)")


class AmbiguousScalar(Exception):
    """A scalar that YAML 1.1 and 1.2 read differently; the message says what to write instead."""

    def __init__(self, message: str, suggestion: str) -> None:
        super().__init__(message)
        self.suggestion = suggestion


def meaning(word: str) -> Any:
    """The value of a plain scalar; `AmbiguousScalar` where YAML 1.1 and 1.2 differ."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if not _may_mean_more(word):
        return word
    if word in _SWITCHES:
        value = _SWITCHES[word]
        raise AmbiguousScalar(
            f"{word} is {value} to some YAML parsers and a word to others", f'write "{word}" or {value}'
        )
    if len(word) > _LONGEST_NUMBER:
        return word
    if _SIXTIES.fullmatch(word):
        raise AmbiguousScalar(f"{word} is a base-60 number to some YAML parsers and text to others", f'write "{word}"')
    return _number(word)


def _may_mean_more(word: str) -> bool:
    """Fast path: most scalars begin with a letter that makes them strings."""
    return word[0] in "+-.0123456789" or word in _SWITCHES


def _number(word: str) -> Any:
    if _WHOLE.fullmatch(word):
        value = int(word)
        if not -LARGEST <= value <= LARGEST:
            raise AmbiguousScalar(f"{word} is too large for a number", f'write "{word}"')
        return value
    if _NOWHERE.fullmatch(word) or (_FLOAT.fullmatch(word) and not math.isfinite(float(word))):
        raise AmbiguousScalar(f"{word} is not a finite number", f'write "{word}" if it is a word')
    if _FLOAT.fullmatch(word):
        return float(word)
    if _OTHER_NUMBERS.fullmatch(word):
        raise AmbiguousScalar(f"{word} is a different number in different YAML parsers", f'write "{word}" or a decimal')
    return word
