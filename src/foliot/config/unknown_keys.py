"""Environment variables that look like settings but are none of this version: ignored or refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from foliot.core.errors import Invalid

TOKEN = "FOLIOT_TOKEN"  # noqa: S105 -- the name of a variable
CLIENT = {
    "FOLIOT_URL": "Which server the client commands talk to (default http://127.0.0.1:8000).",
    TOKEN: "The token they present; none is needed by a server in local mode.",
}
"""Read by the command line as a client, not by the server."""

TESTS = "FOLIOT_TEST_"
"""Prefix of variables of the test suite."""

LATER: dict[tuple[str, ...], str] = {
    ("CELERY_RESULT_BACKEND",): "not needed: results are rows of the database",
}
"""Accepted and unused in this version: spellings of one key, and its purpose."""


def unused(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys that are set and have no effect: (key, purpose)."""
    return [(key, what) for keys, what in LATER.items() for key in keys if environ.get(key)]


def complaints(environ: Mapping[str, str], known: Iterable[str]) -> list[Invalid]:
    """Errors about unknown keys. Their values are never shown: many hold passwords."""
    errors = []
    for keys in LATER:
        given = [key for key in keys if environ.get(key)]
        if len({environ[key] for key in given}) > 1:
            errors.append(
                Invalid(given[0], f"must not differ from {', '.join(given[1:])}, which means the same; keep one")
            )
    expected = {*known, *CLIENT, *(key for keys in LATER for key in keys)}
    ours = [key for key in sorted(environ) if key.startswith("FOLIOT_")]
    errors += [_unknown(key, expected) for key in ours if _stray(key, expected)]
    return errors


def _stray(key: str, expected: set[str]) -> bool:
    return key not in expected and not key.startswith(TESTS)


def _unknown(key: str, expected: set[str]) -> Invalid:
    near = difflib.get_close_matches(key, expected, n=1, cutoff=0.6)
    return Invalid(key, "is not a setting of Foliot" + (f"; did you mean {near[0]}?" if near else "; unset it"))
