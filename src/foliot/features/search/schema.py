"""Response schemas of autocompletion."""

from __future__ import annotations

from foliot.servers.http.schema import declared


@declared
class FilterSuggestion:
    """One completion: `value` is to be used, `label` to be shown, `hint` distinguishes it from others."""

    field: str
    value: str
    label: str
    hint: str


@declared
class SuggestionList:
    """Best first."""

    items: list[FilterSuggestion]
