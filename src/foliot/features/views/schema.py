"""Answers about saved views."""

from __future__ import annotations

from datetime import datetime

from foliot.core.access import Caller
from foliot.core.declaration import declared
from foliot.features.views import model
from foliot.features.views.model import ViewedList


@declared
class SavedView:
    """A filter of a list, with its order, under a name."""

    id: str
    list: ViewedList
    name: str
    q: str
    sort: str | None
    shared: bool
    """Whether the other users of the tenant see it."""
    user_id: str
    mine: bool
    """Whether it belongs to the caller."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, view: model.StoredView, caller: Caller) -> SavedView:
        return cls(
            id=view.id,
            list=view.list,
            name=view.name,
            q=view.q,
            sort=view.sort,
            shared=view.shared,
            user_id=view.user_id,
            mine=view.user_id == caller.user_id,
            created_at=view.created_at,
            updated_at=view.updated_at,
        )


@declared
class SavedViewPage:
    """A page of views."""

    items: list[SavedView]
    next_cursor: str | None
