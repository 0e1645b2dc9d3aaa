"""The order of groups of dead letters: by what a group has in common, page by page."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, func

from foliot.db.keyset import beyond_pair
from foliot.engine.model.dead_letter_sort import DeadLetterSort, DeadLetterSortKey
from foliot.engine.sql.tables import runs


def in_group_order(
    query: Select[Any], newest: ColumnElement[str], cursor: str | None, sort: DeadLetterSort | None
) -> Select[Any]:
    """Groups after the cursor in this order; without one, those with the newest dead letter first."""
    if sort is None:
        query = query.order_by(newest.desc())
        return query if cursor is None else query.having(newest < cursor)
    by: ColumnElement[Any] = {
        DeadLetterSortKey.LAST_AT: func.max(runs.c.finished_at),
        DeadLetterSortKey.FIRST_AT: func.min(runs.c.finished_at),
        DeadLetterSortKey.COUNT: func.count(),
    }[sort.key]
    query = query.order_by(by.desc() if sort.down else by.asc(), newest.desc())
    return query if cursor is None else query.having(beyond_pair(by, newest, cursor, down=sort.down))
