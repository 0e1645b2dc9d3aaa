"""Encodes responses: the declared dataclasses of the features, by orjson, without conversion."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from fastapi import Response

# `Z` for UTC, as RFC 3339 in the contract has it; numbers and enums as keys, for counts by state.
OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z


def answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(dumps(body), status, headers, "application/json")


def dumps(body: object) -> bytes:
    return orjson.dumps(body, option=OPTIONS)
