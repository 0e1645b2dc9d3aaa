"""Requests and answers of search."""

from __future__ import annotations

from foliot.servers.http.schema import declared


@declared
class FilterSuggestion:
    """One way to go on: `value` is what to use, `label` what to show, `hint` what tells it from others."""

    field: str
    value: str
    label: str
    hint: str


@declared
class SuggestionList:
    """The best first."""

    items: list[FilterSuggestion]
