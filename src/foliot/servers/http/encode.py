"""Encodes responses: the declared dataclasses of the features, by orjson, without conversion.

Writes documents as YAML for people to edit; text that YAML parsers could read as another type is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

import orjson
from fastapi import Response

# `Z` for UTC, as RFC 3339 in the contract has it; numbers and enums as keys, for counts by state.
OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z


def answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(dumps(body), status, headers, "application/json")


def dumps(body: object) -> bytes:
    return orjson.dumps(body, option=OPTIONS)


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_MEANS_MORE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_LONG = 1000
"""Characters of a key: YAML parsers look no further for its colon."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def yaml_list(documents: Sequence[Mapping[str, object]]) -> str:
    """Each document as an item of one list; such texts can be concatenated."""
    return "".join(f"{line}\n" for one in documents for line in _item(one))


def _item(value: object) -> Iterator[str]:
    for place, line in enumerate(_lines(value)):
        yield f"  {line}" if place else f"- {line}"


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            named = _scalar(name)
            if len(named) > _LONG:
                yield f"? {named}"
                named = ""
            if isinstance(each, Mapping | list) and each:
                yield f"{named}:"
                yield from (f"  {line}" for line in _lines(each))
            else:
                yield f"{named}: {_scalar(each)}"
    elif isinstance(value, list) and value:
        for each in value:
            yield from _item(each)
    else:
        yield _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _MEANS_MORE:
        return value
    written = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        # YAML 1.1 parsers accept an exponent only after a decimal point.
        return written if "." in written else written.replace("e", ".0e")
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
