"""Finds the line and column of a field path."""

from __future__ import annotations

import re

from foliot.features.pipelines.file.parse import YamlNode

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def place_of(node: YamlNode, field: str, key: tuple[int, int] | None = None) -> tuple[int, int]:
    """Line and column of a path such as `chain[1].kwargs.urls`, or of its nearest existing ancestor."""
    place = key or (node.line, node.column)
    for name, number in _PART.findall(field):
        if number and isinstance(node.value, list) and int(number) < len(node.value):
            node = node.value[int(number)]
            place = node.line, node.column
        elif name and isinstance(node.value, dict) and name in node.value:
            entry = node.value[name]
            node, place = entry.node, (entry.line, entry.column)
        else:
            break
    return place
