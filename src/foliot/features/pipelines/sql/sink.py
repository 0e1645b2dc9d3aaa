"""SQL sink: writes items of pipelines to tables of external databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    URL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    make_url,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchTableError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from foliot.core.errors import Invalid, Unavailable
from foliot.features.pipelines.model import RowTarget
from foliot.features.pipelines.sql.sink_columns import ItemUnfit, fit

DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
}
PACKAGES = {"postgresql+asyncpg": ("asyncpg", "postgres"), "mysql+asyncmy": ("asyncmy", "mysql")}
PATIENCE = 10.0
"""Connection timeout in seconds."""
_UNFIT_ROWS = frozenset({1264, 1265, 1292, 1364, 1366, 1406, 3140, 3819, 4025})
"""Error codes of MariaDB and MySQL for an invalid row that their driver does not classify as such."""
_KEY_LENGTH = 190
"""Characters of a key column in a created table: what an index of every supported database can hold."""


@dataclass(frozen=True, slots=True)
class SqlSinkDatabase:
    """Connects to the database that a step names, with one engine per run."""

    below: Path | None
    """Base of relative SQLite paths; None allows none."""
    own: Path | None = None
    """Foliot's own SQLite file, which must not be a sink."""
    more: Sequence[Path] = ()
    """Other directories for SQLite files."""

    @asynccontextmanager
    async def open(self, into: RowTarget) -> AsyncIterator[SqlRowWriter]:
        engine = self._engine(into.url)
        try:
            yield SqlRowWriter(engine, into)
        finally:
            await asyncio.shield(engine.dispose())

    def _engine(self, url: str) -> AsyncEngine:
        made = self._url(url)
        arguments: dict[str, Any] = {"timeout": PATIENCE} if made.get_backend_name() != "mysql" else {}
        try:
            # A connection is closed after each batch: a run may wait for hours between two.
            return create_async_engine(made, poolclass=NullPool, connect_args=arguments)
        except (SQLAlchemyError, ImportError, TypeError, ValueError) as wrong:
            raise Invalid("url", f"cannot be used: {type(wrong).__name__}") from None

    def _url(self, text: str) -> URL:
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise Invalid("url", "must be a database URL such as postgresql://user:password@host/name") from None
        driver = DRIVERS.get(url.drivername.partition("+")[0])
        if driver is None:
            raise Invalid("url", f"must begin with one of {', '.join(f'{name}://' for name in DRIVERS)}")
        package, extra = PACKAGES.get(driver, (None, None))
        if package is not None and find_spec(package) is None:
            raise Invalid("url", f"needs a driver that is not installed: pip install 'foliot[{extra}]'")
        url = url.set(drivername=driver)
        return self._file(url) if url.get_backend_name() == "sqlite" else url

    def _file(self, url: URL) -> URL:
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise Invalid(
                "url", "must name a file, such as sqlite:///prices.db: a database in memory is lost when the run ends"
            )
        if ".." in Path(url.database).parts:
            raise Invalid("url", "must not have .. in its path")
        if self.below is None and not Path(url.database).is_absolute():
            raise Invalid("url", "must be an absolute path")
        path = (self.below or Path("/")) / url.database
        if self.own is not None and path.resolve() == self.own.resolve():
            raise Invalid("url", "is Foliot's own database: choose another file")
        roots = () if self.below is None else (self.below, *self.more)
        # By the resolved path: a symbolic link must not lead outside.
        if roots and not any(path.resolve().is_relative_to(root.resolve()) for root in roots):
            listed = ", ".join(str(root) for root in roots)
            raise Invalid("url", f"must name a file below {listed}; FOLIOT_SINK_DIRS allows more directories")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as wrong:
            raise Unavailable(
                f"its directory cannot be created: {wrong}", told="its directory cannot be created"
            ) from None
        return url.set(database=str(path))


class SqlRowWriter:
    """Inserts or upserts rows in one table, reflected or created when the first items come."""

    def __init__(self, engine: AsyncEngine, into: RowTarget) -> None:
        self._engine = engine
        self._into = into
        self._table: Table | None = None

    async def put(self, items: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
        try:
            if self._table is None:
                self._table = await self._found(items[0])
            rows, refused = self._rows(self._table, items)
            return refused | await self._all(self._table, rows)
        except ProgrammingError as error:
            raise Invalid("table", f"cannot be written to: {_said(error)}", got=self._into.name) from None
        except (DBAPIError, OSError, TimeoutError) as error:
            raise _away(error) from None

    async def _found(self, first: Mapping[str, Any]) -> Table:
        """The reflected table; created if it is missing and `create` allows it."""
        schema, _, name = self._into.name.rpartition(".")
        async with self._engine.begin() as conn:
            try:
                table = await conn.run_sync(lambda sync: _reflected(sync, name, schema or None))
            except NoSuchTableError:
                if not self._into.create:
                    raise Invalid("table", "does not exist, and create is false", got=self._into.name) from None
                table = _made(name, schema or None, self._into, first)
                await conn.run_sync(lambda sync: table.create(sync, checkfirst=True))
        wanted = [*self._into.columns, *self._into.key]
        if unknown := [one for one in wanted if one not in table.columns]:
            raise Invalid("columns", f"has {unknown[0]!r}, which is not a column of {self._into.name}")
        if self._into.key and not _unique(table, self._into.key):
            listed = ", ".join(self._into.key)
            raise Invalid("key", f"needs a primary key or a unique index on exactly ({listed}) in {self._into.name}")
        return table

    def _rows(
        self, table: Table, items: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
        rows: dict[int, dict[str, Any]] = {}
        refused: dict[int, str] = {}
        for at, item in enumerate(items):
            try:
                rows[at] = fit(table, item, self._into)
            except ItemUnfit as unfit:
                refused[at] = str(unfit)
        return rows, refused

    async def _all(self, table: Table, rows: dict[int, dict[str, Any]]) -> dict[int, str]:
        """In one statement, or one by one after a row error."""
        try:
            async with self._engine.begin() as conn:
                for names, group in _alike(self._last(rows)).items():
                    await conn.execute(self._statement(table, names), group)
        except DBAPIError as error:
            if not _about_rows(error):
                raise
        else:
            return {}
        refused: dict[int, str] = {}
        for at, row in rows.items():
            try:
                async with self._engine.begin() as conn:
                    await conn.execute(self._statement(table, tuple(row)), [row])
            except DBAPIError as error:
                if not _about_rows(error):
                    raise
                refused[at] = _said(error)
        return refused

    def _last(self, rows: Mapping[int, dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The last row of each key: PostgreSQL refuses to upsert a row twice in one statement."""
        if not self._into.key:
            return list(rows.values())
        return list({tuple(str(row[name]) for name in self._into.key): row for row in rows.values()}.values())

    def _statement(self, table: Table, names: tuple[str, ...]) -> Any:
        key = list(self._into.key)
        if not key:
            return table.insert()
        written = [name for name in names if name not in key]
        if self._engine.dialect.name in ("mysql", "mariadb"):
            add = mysql.insert(table)
            same = {key[0]: table.c[key[0]]}
            return add.on_duplicate_key_update({name: add.inserted[name] for name in written} or same)
        put = (postgresql if self._engine.dialect.name == "postgresql" else sqlite).insert(table)
        changed = {name: put.excluded[name] for name in written}
        if not changed:
            return put.on_conflict_do_nothing(index_elements=key)
        return put.on_conflict_do_update(index_elements=key, set_=changed)


def _alike(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Rows grouped by their columns, for one statement each."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(sorted(row)), []).append(row)
    return groups


def _reflected(conn: Connection, name: str, schema: str | None) -> Table:
    return Table(name, MetaData(), schema=schema, autoload_with=conn, resolve_fks=False)


def _unique(table: Table, key: Sequence[str]) -> bool:
    """Whether the table has a unique constraint or index on this key."""
    kept = [set(table.primary_key.columns.keys())]
    kept += [set(index.columns.keys()) for index in table.indexes if index.unique]
    kept += [set(rule.columns.keys()) for rule in table.constraints if isinstance(rule, UniqueConstraint)]
    return set(key) in kept


def _made(name: str, schema: str | None, into: RowTarget, first: Mapping[str, Any]) -> Table:
    """A new table with columns for the fields of this item."""
    fields = list(into.columns) or list(first)
    columns = []
    for field in dict.fromkeys([*into.key, *fields]):
        kind = _kind(first.get(field), keyed=field in into.key)
        columns.append(Column(field, kind, primary_key=field in into.key, autoincrement=False))
    if not columns:
        raise Invalid("columns", "is required: the first item has no fields to create a table from")
    return Table(name, MetaData(), *columns, schema=schema)


def _kind(value: Any, *, keyed: bool) -> Any:
    if isinstance(value, bool):
        return Boolean()
    if isinstance(value, int):
        return BigInteger()
    if isinstance(value, float):
        return Float(53)
    if isinstance(value, dict | list) and not keyed:
        return JSON()
    if keyed:
        # MariaDB and MySQL cannot index a text without a length.
        return Text().with_variant(mysql.VARCHAR(_KEY_LENGTH), "mysql", "mariadb")
    return Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def _about_rows(error: DBAPIError) -> bool:
    """Whether the error is about the row: a constraint, or a value out of range."""
    if error.connection_invalidated:
        return False
    codes = set((getattr(error.orig, "args", None) or ())[:1])
    if isinstance(error, IntegrityError | DataError) or codes & _UNFIT_ROWS:
        return True
    return isinstance(getattr(error.orig, "__cause__", None), ValueError | TypeError)


def _said(error: DBAPIError) -> str:
    """The database's message on one line, without the driver's class names."""
    return (str(error.orig).splitlines() or ["refused"])[0].rpartition(">: ")[2][:200]


def _away(error: Exception) -> Unavailable:
    """An error without address and user."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    name = type(cause.__cause__ or cause).__name__
    said = "the database of the sink does not answer"
    return Unavailable(f"{said}: {cause}"[:500], told=f"{said} ({name})")
