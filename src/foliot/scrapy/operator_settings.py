"""Settings of a Scrapyd's operator: from the project's settings, or from the environment under the same name."""

from __future__ import annotations

import os

from scrapy.settings import BaseSettings

_YES = {"1", "true", "yes", "on"}
_NO = {"", "0", "false", "no", "off", "none", "null"}


def text_of(settings: BaseSettings, name: str, default: str = "") -> str:
    """A comma-separated list."""
    value = settings.get(name)
    if value is None:
        return os.environ.get(name, default)
    return ",".join(str(part) for part in value) if isinstance(value, list | tuple | set | frozenset) else str(value)


def flag_of(settings: BaseSettings, name: str) -> bool:
    return is_yes(text_of(settings, name), name)


def number_of(settings: BaseSettings, name: str, default: int) -> int:
    text = text_of(settings, name, str(default))
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name}: must be a whole number, got {text!r}")
    return int(text)


def is_yes(value: object, name: str) -> bool:
    """Spider arguments are always text, so `false` must not count as true."""
    text = str(value).strip().lower()
    if text in _YES or text in _NO:
        return text in _YES
    raise ValueError(f"{name}: must be true or false, got {value!r}")
