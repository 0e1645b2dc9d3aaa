"""Response schemas of autocompletion and of resolving names."""

from __future__ import annotations

from foliot.core.declaration import declared


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


@declared
class ReferenceMatch:
    """One thing that a reference matches; `name` is empty where it has none."""

    kind: str
    id: str
    name: str
    hint: str


@declared
class ReferenceResolution:
    """One match: that is meant. Several: it is ambiguous. None: `suggestions` has names that are alike."""

    matches: list[ReferenceMatch]
    more: bool
    """Whether there are more matches than these."""
    suggestions: list[str]
