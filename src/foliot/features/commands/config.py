"""Validates a command's configuration; every error names its field and the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foliot.core.document import Fields, check_text
from foliot.core.errors import Invalid
from foliot.core.secret_template import check_header, refuse_secret

MOST_WORDS = 256
MOST_BYTES = 64 * 1024
"""Of all words of a command; its environment and its input have the same limit."""
MOST_VARIABLES = 64
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def read_command(config: Mapping[str, Any]) -> dict[str, Any]:
    """The stored form: `argv`, and `env`, `cwd`, `stdin` and `shell` where they are given."""
    fields = Fields.of("", config)
    fields.asked |= {"argv", "env", "cwd", "stdin", "shell"}
    fields.finish()
    stored: dict[str, Any] = {"argv": _words(fields.value("argv"))}
    if fields.flag("shell", default=False):
        stored["shell"] = True
    if variables := read_variables(fields.value("env")):
        stored["env"] = variables
    if cwd := fields.value("cwd"):
        stored["cwd"] = _directory(cwd)
    if stdin := fields.text("stdin", "", most=MOST_BYTES):
        refuse_secret("stdin", stdin)
        stored["stdin"] = stdin
    return stored


def _words(got: object) -> list[str]:
    if got is None:
        raise Invalid("argv", "is required")
    if isinstance(got, str) or not isinstance(got, list | tuple):
        rule = 'must be a list of words such as ["/usr/bin/python3", "sync.py"]; for a shell: ["…"] with "shell": true'
        raise Invalid("argv", rule, got=got)
    if not 1 <= len(got) <= MOST_WORDS:
        raise Invalid("argv", f"must be 1 to {MOST_WORDS} words", got=f"{len(got)} words")
    words = [check_text(f"argv[{place}]", word, MOST_BYTES) for place, word in enumerate(got)]
    for place, word in enumerate(words):
        if "secret" in word.lower():
            _refuse_secret_word(f"argv[{place}]", word)
    if not words[0].strip():
        raise Invalid("argv[0]", "must name a program")
    if sum(len(word.encode("utf-8", "replace")) for word in words) > MOST_BYTES:
        raise Invalid("argv", f"must be at most {MOST_BYTES // 1024} KiB in total")
    return words


def _refuse_secret_word(where: str, word: str) -> None:
    """Words of a command are visible to every user of the machine."""
    try:
        refuse_secret(where, word)
    except Invalid:
        rule = "must not contain a secret, which every user of the machine could read: put {{ secret.NAME }} into env"
        raise Invalid(where, rule) from None


def read_variables(got: object) -> dict[str, str]:
    """An environment: names and texts; the values may name secrets, so errors never repeat one."""
    if got is None:
        return {}
    if not isinstance(got, Mapping):
        raise Invalid("env", "must be an object of names and texts", got=type(got).__name__)
    if len(got) > MOST_VARIABLES:
        raise Invalid("env", f"must be at most {MOST_VARIABLES} variables", got=f"{len(got)} variables")
    variables: dict[str, str] = {}
    for name, value in got.items():
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise Invalid("env", "must have names such as API_TOKEN", got=str(name)[:100])
        if name.startswith("FOLIOT_"):
            raise Invalid(f"env.{name}", "is set by Foliot and cannot be overridden")
        if not isinstance(value, str):
            raise Invalid(f"env.{name}", "must be text")
        if "\x00" in value:
            raise Invalid(f"env.{name}", "must not contain the character U+0000")
        check_header(f"env.{name}", value)
        variables[name] = value
    if sum(len(name) + len(value.encode("utf-8", "replace")) for name, value in variables.items()) > MOST_BYTES:
        raise Invalid("env", f"must be at most {MOST_BYTES // 1024} KiB in total")
    return variables


def _directory(got: object) -> str:
    cwd = check_text("cwd", got, 4096)
    if not cwd.startswith("/"):
        raise Invalid("cwd", "must be an absolute path such as /srv/scrapers", got=cwd)
    return cwd
