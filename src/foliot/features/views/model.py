"""Saved views: a filter of a list, with its order, under a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from annotated_types import MaxLen, MinLen

from foliot.core.declaration import Missing, declared
from foliot.features.filters.model import MOST_CHARACTERS

VIEW = "viw"
LONGEST_NAME = 40
LONGEST_SORT = 40
MOST_VIEWS = 12
"""Views that a user may have of one list: the dashboard counts the matches of each."""
MOST_SHARED = 24
"""Views of one list that a tenant may share."""


class ViewedList(StrEnum):
    """The lists that have saved views."""

    RUNS = "runs"
    SCHEDULES = "schedules"


ViewName = Annotated[str, MinLen(1), MaxLen(LONGEST_NAME)]
ViewFilter = Annotated[str, MaxLen(MOST_CHARACTERS)]
ViewSort = Annotated[str | None, MaxLen(LONGEST_SORT)]


@declared
class NewSavedView:
    """A filter, and an order if it has one, under a name."""

    list: Annotated[ViewedList, Missing("must be runs or schedules")]
    name: Annotated[ViewName, Missing("is required")]
    q: ViewFilter = ""
    """The filter; empty matches all."""
    sort: ViewSort = None
    shared: bool = False
    """Whether the other users of the tenant see it."""


@declared
class SavedViewChange:
    """Fields to change; those that are absent stay."""

    name: ViewName | None = None
    q: ViewFilter | None = None
    sort: ViewSort = None
    shared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView:
    """A view as it is stored. Its name is unique among those of its owner and list."""

    id: str
    tenant_id: str
    user_id: str
    list: ViewedList
    name: str
    q: str
    sort: str | None
    shared: bool
    created_at: datetime
    updated_at: datetime

    def as_dict(self) -> dict[str, object]:
        """As the audit log shows it."""
        return {"list": self.list.value, "name": self.name, "q": self.q, "sort": self.sort, "shared": self.shared}
