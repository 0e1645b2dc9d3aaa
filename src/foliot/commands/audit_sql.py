"""Statements of the audit log: entries are appended in the change's own transaction, and chained afterwards.

Audit entries and their hash chain, which makes a later change of an entry evident.

Tables of the audit log and its hash chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Table,
    Text,
    UniqueConstraint,
    cast,
    func,
    select,
    text,
    type_coerce,
)

from foliot.db.batch_statements import Change
from foliot.db.database import Statements
from foliot.db.dialects import Batch
from foliot.db.metadata import Document, Moment, key, metadata, moment_out, tenant
from foliot.engine.model.views import PageRequest

EDITS = ("patch", "replace", "tag", "revert")
"""Changes of a schedule's settings: those that can be undone."""
GENESIS = "0" * 64
"""The digest that the first entry of every chain refers to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry of the audit log. `seq` and `digest` are its place in the tenant's chain, once it is chained."""

    id: str
    tenant_id: str
    at: datetime
    user_id: str
    key_id: str | None
    door: str
    verb: str
    thing: str
    thing_id: str
    was: Mapping[str, Any] | None
    became: Mapping[str, Any] | None
    seq: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A chained entry as its row holds it: sequence number, digest, and every other value unchanged."""

    entry_id: str
    seq: int
    digest: str
    content: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last link of a tenant's chain, stored in a table of its own, so that a truncated chain is noticed."""

    tenant_id: str
    seq: int
    digest: str


def seal(previous: str, seq: int, content: Iterable[str | None]) -> str:
    """The digest of a link: SHA-256 over the one before it, its number and every value, each led by its length.

    Lengths keep adjacent values apart, and NULL differs from an empty text.
    """
    digest = hashlib.sha256()
    for value in (previous, str(seq), *content):
        if value is None:
            digest.update(b"-")
        else:
            encoded = value.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded))
            digest.update(encoded)
    return digest.hexdigest()


trail = Table(
    "trail",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("at", Moment, nullable=False),
    Column("user_id", key(200), nullable=False),
    Column("key_id", key(40)),
    Column("door", key(16), nullable=False),
    Column("verb", key(32), nullable=False),
    Column("thing", key(32), nullable=False),
    Column("thing_id", key(200), nullable=False),
    Column("was", Document),
    Column("became", Document),
    # The tenant while the entry is unchained; then NULL, so that the partial index holds unchained entries alone.
    Column("waiting_of", key(64)),
    Column("seq", BigInteger),
    Column("digest", key(64)),
    UniqueConstraint("tenant_id", "seq"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("(seq IS NULL) = (waiting_of IS NOT NULL)", name="waiting"),
    CheckConstraint("(seq IS NULL) = (digest IS NULL)", name="chained"),
    CheckConstraint("waiting_of IS NULL OR waiting_of = tenant_id", name="own"),
    Index(
        "ix_trail_waiting",
        "waiting_of",
        "id",
        postgresql_where=text("waiting_of IS NOT NULL"),
        sqlite_where=text("waiting_of IS NOT NULL"),
    ),
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "thing_id", "id"),
)


trail_heads = Table(
    "trail_heads",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("digest", key(64), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)


# Everything but the place in the chain. Documents are hashed as the text that is stored in the row.
_CONTENT = ("id", "tenant_id", "at", "user_id", "key_id", "door", "verb", "thing", "thing_id", "was", "became")
_RAW = [type_coerce(trail.c[name], Text()).label(name) for name in _CONTENT]

# A loose index scan: from one tenant with unchained entries to the next, instead of reading every unchained row.
_WAITING = text("""
WITH RECURSIVE t(tenant_id) AS (
  SELECT min(waiting_of) FROM trail WHERE waiting_of IS NOT NULL
  UNION ALL
  SELECT (SELECT min(r.waiting_of) FROM trail r WHERE r.waiting_of > t.tenant_id) FROM t WHERE t.tenant_id IS NOT NULL
)
SELECT tenant_id FROM t WHERE tenant_id IS NOT NULL
""")


@dataclass(frozen=True, slots=True)
class SqlAuditLog(Statements):
    """Appends entries, and chains them: the transaction that locks a tenant's head numbers its unchained entries."""

    async def add(self, entries: Sequence[AuditEntry]) -> None:
        """Append, with one statement. The entries are chained later, by `chain`."""
        await self.dialect.insert(self.conn, trail, entry_columns(entries))

    async def chain(self, limit: int) -> int:
        """Number unchained entries, oldest first; skips tenants whose head another transaction has locked."""
        heads = await self._lock_heads()
        if not heads:
            return 0
        # The heads are locked: no other transaction numbers these tenants' entries, so the entries need no lock.
        query = select(*_RAW).where(self.dialect.among(trail.c.waiting_of, sorted(heads)))
        rows = (await self.conn.execute(query.order_by(trail.c.id).limit(limit))).all()
        chained: dict[str, list[Any]] = {"seq": [], "digest": [], "waiting_of": [None] * len(rows)}
        for row in rows:
            last = heads[row.tenant_id]
            seq = last.seq + 1
            heads[row.tenant_id] = ChainHead(row.tenant_id, seq, seal(last.digest, seq, _content(row)))
            chained["seq"].append(seq)
            chained["digest"].append(heads[row.tenant_id].digest)
        if rows:
            await self.dialect.update(self.conn, trail, {"id": [row.id for row in rows]}, chained)
            await self._move([heads[tenant_id] for tenant_id in sorted({row.tenant_id for row in rows})])
        return len(rows)

    async def _lock_heads(self) -> dict[str, ChainHead]:
        """Lock the heads of tenants with unchained entries, by `SKIP LOCKED`."""
        tenants = list((await self.conn.execute(_WAITING)).scalars())
        if not tenants:
            return {}
        here = self.dialect.among(trail_heads.c.tenant_id, tenants)
        known = set((await self.conn.execute(select(trail_heads.c.tenant_id).where(here))).scalars())
        if new := [tenant_id for tenant_id in tenants if tenant_id not in known]:
            columns = {"tenant_id": new, "seq": [0] * len(new), "digest": [GENESIS] * len(new)}
            await self.dialect.insert(self.conn, trail_heads, columns, conflict="ignore")
        query = select(trail_heads).where(here).order_by(trail_heads.c.tenant_id)
        rows = await self.conn.execute(self.dialect.lock(query, skip=True))
        return {row.tenant_id: ChainHead(row.tenant_id, row.seq, row.digest) for row in rows}

    async def _move(self, heads: Sequence[ChainHead]) -> None:
        keys = {"tenant_id": [head.tenant_id for head in heads]}
        values = {"seq": [head.seq for head in heads], "digest": [head.digest for head in heads]}
        await self.dialect.update(self.conn, trail_heads, keys, values)

    async def waits(self) -> bool:
        """Whether there is an unchained entry."""
        query = select(trail.c.waiting_of).where(trail.c.waiting_of.is_not(None)).limit(1)
        return (await self.conn.execute(query)).first() is not None

    async def oldest_waiting(self, tenant_id: str) -> datetime | None:
        query = select(func.min(trail.c.at)).where(trail.c.waiting_of == tenant_id)
        moment: datetime | None = (await self.conn.execute(query)).scalar()
        return moment

    async def count_waiting(self, tenant_id: str) -> int:
        """The number of unchained entries."""
        query = select(func.count()).select_from(trail).where(trail.c.waiting_of == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def get(self, tenant_id: str, entry_id: str) -> AuditEntry | None:
        query = select(trail).where(trail.c.id == entry_id, trail.c.tenant_id == tenant_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _entry(row)

    async def find(
        self,
        tenant_id: str,
        page: PageRequest,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **filters: str | None,
    ) -> list[AuditEntry]:
        """Newest first, of [start, end). `filters`: user_id, thing, thing_id, verb."""
        query = select(trail).where(trail.c.tenant_id == tenant_id)
        for name, value in filters.items():
            if value is not None:
                query = query.where(trail.c[name] == value)
        if start is not None:
            query = query.where(trail.c.at >= start)
        if end is not None:
            query = query.where(trail.c.at < end)
        if page.cursor is not None:
            query = query.where(trail.c.id < page.cursor)
        return [_entry(row) for row in await self.conn.execute(query.order_by(trail.c.id.desc()).limit(page.limit))]

    async def latest_of_each(self, tenant_id: str, recent: int) -> list[AuditEntry]:
        """The newest entry of each user among the `recent` newest entries."""
        own = select(trail.c.id, trail.c.user_id).where(trail.c.tenant_id == tenant_id)
        newest = own.order_by(trail.c.id.desc()).limit(recent).subquery()
        last = select(func.max(newest.c.id).label("id")).group_by(newest.c.user_id).subquery()
        query = select(trail).join(last, last.c.id == trail.c.id).where(trail.c.tenant_id == tenant_id)
        return [_entry(row) for row in await self.conn.execute(query)]

    async def length(self) -> int:
        """The number of chained entries of all tenants, by their heads."""
        return int((await self.conn.execute(select(func.sum(trail_heads.c.seq)))).scalar() or 0)

    async def next_tenant(self, after: str) -> str | None:
        """The next tenant, by name, that has entries or a head."""
        tenant_ids = [
            (await self.conn.execute(select(func.min(table.c.tenant_id)).where(table.c.tenant_id > after))).scalar()
            for table in (trail, trail_heads)
        ]
        return min((tenant_id for tenant_id in tenant_ids if tenant_id is not None), default=None)

    async def head(self, tenant_id: str) -> ChainHead | None:
        row = (await self.conn.execute(select(trail_heads).where(trail_heads.c.tenant_id == tenant_id))).first()
        return None if row is None else ChainHead(row.tenant_id, row.seq, row.digest)

    async def walk(self, tenant_id: str, after_seq: int, limit: int) -> list[ChainLink]:
        # A cast: SQLite stores text in a column of numbers if an edited row has it.
        """Chained entries in the order of their places."""
        query = select(*_RAW, cast(trail.c.seq, BigInteger).label("seq"), trail.c.digest)
        query = query.where(trail.c.tenant_id == tenant_id, trail.c.seq > after_seq)
        rows = await self.conn.execute(query.order_by(trail.c.seq, trail.c.id).limit(limit))
        return [ChainLink(row.id, row.seq, row.digest, _content(row)) for row in rows]


def entry_columns(entries: Sequence[AuditEntry]) -> dict[str, list[Any]]:
    """New entries as columns of a batch insert."""
    columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in entries] for name in _CONTENT}
    columns["waiting_of"] = columns["tenant_id"]
    return columns


def _entry(row: Any) -> AuditEntry:
    return AuditEntry(**{name: getattr(row, name) for name in (*_CONTENT, "seq", "digest")})


def _content(row: Any) -> tuple[str | None, ...]:
    """The row's values as text, equal on every database."""
    return tuple(_text(getattr(row, name)) for name in _CONTENT)


def _text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return str(moment_out("sqlite", value if value.tzinfo is not None else value.replace(tzinfo=UTC)))
    return None if value is None else str(value)


def audit_change(entries: Sequence[AuditEntry]) -> tuple[Change, ...]:
    """The same for `Dialect.change`; nothing without entries."""
    return (Change(trail, {}, entry_columns(entries)),) if entries else ()


def audit_rows(entries: Sequence[AuditEntry]) -> Batch | None:
    """Entries as rows for a statement that inserts other rows as well."""
    return (trail, entry_columns(entries)) if entries else None
