"""Reads settings from their stored form, which was checked when it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foliot.features.watches.model.request import read_watch
from foliot.features.watches.model.watch import PageSources, WatchSettings


class _Unguarded:
    """URLs were checked when they were stored, and are again when they are requested."""

    def check(self, url: str) -> None:
        pass


def read_stored(document: Mapping[str, Any]) -> WatchSettings:
    """Ten thousand URLs are not spelt again: the first stands for them."""
    urls, given = document.get("urls"), {name: value for name, value in document.items() if name != "fed_by"}
    if not urls:
        return read_watch(given, _Unguarded())
    settings = read_watch({**given, "urls": urls[:1]}, _Unguarded())
    return replace(settings, sources=PageSources(urls=tuple(urls)), fed_by=document.get("fed_by"))
