"""Redacts secrets in error messages that quote a line of the file."""

from __future__ import annotations

import re
from collections.abc import Callable

from foliot.core.mask import HIDDEN

SECRET = re.compile(
    r"pass(?:word|wd|phrase)?$|secret|token|api.?key|private.?key|auth(?!or)|credential|cookie|signature",
    re.IGNORECASE,
)
"""Keys whose values are secret."""
AROUND = 300
"""Characters searched before and after a place."""
_GIVEN = re.compile(r"([\w.-]+)[\"']?\s*:\s+([^\s,{}\[\]][^,{}\[\]]*)")


def without_secrets(line: str, column: int) -> Callable[[str], str]:
    """A function that redacts the secrets around this place from a message."""
    # A file of one long line may have thousands of errors.
    line = line[max(0, column - AROUND) : column + AROUND]
    kept = [value for name, rest in _GIVEN.findall(line) if SECRET.search(name) for value in _forms(rest)]

    def hide(said: str) -> str:
        for value in kept:
            said = said.replace(value, HIDDEN)
        return said

    return hide


def _forms(rest: str) -> list[str]:
    """The forms in which a message may quote a value, the longest first."""
    whole = rest.strip()
    found = {whole, whole.partition(" #")[0].strip(), *(word for word in whole.split() if len(word) > 3)}
    bare = {one.strip("\"'") for one in found}
    return sorted((one for one in found | bare if len(one) > 1), key=len, reverse=True)
