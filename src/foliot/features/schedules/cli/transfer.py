"""`foliot schedule export` and `import`: schedules as documents in YAML or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from foliot.terminal.client import Client, connect, segment
from foliot.terminal.follow import write
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import DryRun, Json, Output, read, usage
from foliot.terminal.output import Failure, counting, print_json
from foliot.terminal.table import table

group = CommandGroup()

READ_APART = ("status", "paused_reason")
"""Fields of an exported document that are not sent as part of the schedule."""
STATES = ("active", "paused", "completed", "deleted")
MOST_VALUES = 2_000_000
DEEPEST = 72
"""A schedule's payload may be nested 64 deep."""
COLUMNS = ("name", "id", "did", "why")
BATCH = 500
"""Schedules of one request."""
BATCH_BYTES = 8 * 1024 * 1024
Row = tuple[str, str, str, str]


@group.command()
def export(
    search: Annotated[str, typer.Option("--query", "-q", help="Only schedules that match this filter.")] = "",
    *,
    form: Annotated[Literal["yaml", "json"], typer.Option("--format", help="The format of the documents.")] = "yaml",
    output: Output = None,
) -> None:
    """Export all matching schedules, as `foliot schedule import` reads them."""
    with connect() as client:
        write(client.download("/api/schedules/export", "*/*", q=search or None, format=form), output)


@group.command()
def import_(
    file: Annotated[str, typer.Argument(help="What `export` wrote, YAML or JSON; - is standard input.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace schedules that have the same name, instead of skipping them.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Create schedules from documents. One whose name is taken is skipped, unless --replace is given."""
    with connect() as client:
        documents = read_documents(file, read("FILE", file))
        taken = _ids_by_name(client)
        planned = [_plan(document, taken, replace=replace) for document in documents]
        rows = [one.would() for one in planned] if dry_run else _import(client, planned)
        if as_json:
            print_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
        else:
            table(COLUMNS, rows, empty="The file contains no schedule.")
        refused = sum(row[2] == "refused" for row in rows)
        if refused:
            raise Failure(f"{refused} of {len(rows)} were refused")


def read_documents(name: str, text: str) -> list[dict[str, Any]]:
    """A list of documents, or one alone, as YAML or JSON."""
    parsed = _parsed(name, text)
    documents = [parsed] if isinstance(parsed, dict) else parsed
    if not isinstance(documents, list) or not all(isinstance(document, dict) for document in documents):
        raise usage(f"{name}: must contain a list of schedules, as `foliot schedule export` writes it")
    return documents


def _parsed(name: str, text: str) -> Any:
    if text.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(text)
        except ValueError as wrong:
            raise usage(f"{name}: is not JSON: {wrong}") from None
    # The YAML parser is imported only for YAML.
    from foliot.features.pipelines.file.parse import FileLimits, UnreadableFile, compose

    try:
        node = compose(text, name, FileLimits(MOST_VALUES, DEEPEST))
    except UnreadableFile as broken:
        raise usage(str(broken.fault)) from None
    if node is not None and node.faults:
        raise usage(str(node.faults[0]))
    return [] if node is None else node.plain()


def _ids_by_name(client: Client) -> dict[str, list[str]]:
    """Ids of the existing schedules by name; of several with one name the newest first, as `export` writes them."""
    ids: dict[str, list[str]] = {}
    cursor: str | None = None
    more = True
    while more:
        page = client.get("/api/schedules", limit=500, cursor=cursor)
        for schedule in page["items"]:
            ids.setdefault(schedule["name"], []).append(schedule["id"])
        cursor = page["next_cursor"]
        more = cursor is not None
    return ids


def _skipped(status: object, *, known: bool, replace: bool) -> tuple[str, str] | None:
    """The result for a document that creates no schedule, and why."""
    if status not in STATES:
        return "refused", f"its status must be one of {', '.join(STATES)}, got {json.dumps(status)[:100]}"
    if status in {"completed", "deleted"}:
        return "left", f"it is {status}"
    return ("left", "the name is taken") if known and not replace else None


@dataclass(frozen=True, slots=True)
class _PlannedImport:
    """What a document asks for: a new schedule, another document for an existing one, or nothing."""

    name: str
    body: Mapping[str, Any]
    known: str = ""
    """The id of the schedule that it replaces."""
    skipped: tuple[str, str] | None = None

    def row(self, did: str, why: str = "", schedule_id: str | None = None) -> Row:
        return self.name, self.known if schedule_id is None else schedule_id, did, why

    def would(self) -> Row:
        return self.row(*(self.skipped or (f"would be {'replaced' if self.known else 'created'}",)))


def _plan(document: Mapping[str, Any], taken: dict[str, list[str]], *, replace: bool) -> _PlannedImport:
    body = {name: value for name, value in document.items() if name not in READ_APART}
    name, status = str(body.get("name", "")), document.get("status", "active")
    alike = taken.get(name)
    # Each schedule is replaced at most once: documents that share a name share no schedule.
    known = alike.pop(0) if alike else ""
    skipped = _skipped(status, known=bool(known), replace=replace)
    if status == "paused":
        # In the same request: created first and paused later, it could fire in between.
        body |= {"paused": True, "paused_reason": document.get("paused_reason", "")}
    return _PlannedImport(name, body, known, skipped)


def _import(client: Client, planned: Sequence[_PlannedImport]) -> list[Row]:
    """New schedules are sent in batches, in which each has its own answer; others are replaced one by one."""
    rows: list[Row | None] = [None if one.skipped is None else one.row(*one.skipped) for one in planned]
    new = [place for place, one in enumerate(planned) if one.skipped is None and not one.known]
    depth = _depths(planned)
    # A schedule comes after those that it follows, which may be in an earlier request.
    new.sort(key=lambda place: depth.get(planned[place].name, 0))
    old = [place for place, one in enumerate(planned) if one.skipped is None and one.known]
    with counting("importing", len(new) + len(old)) as show:
        done = 0
        for places in _batches(planned, new):
            answers = _created(client, [planned[place] for place in places])
            for place, row in zip(places, answers, strict=True):
                rows[place] = row
            done += len(places)
            if show is not None:
                show(done)
        for place in old:
            rows[place] = _replaced(client, planned[place])
            done += 1
            if show is not None:
                show(done)
    return [row for row in rows if row is not None]


def _depths(planned: Sequence[_PlannedImport]) -> dict[str, int]:
    """How many schedules of the file precede each in its longest chain; a ring is the server's to refuse."""
    parents: dict[str, list[str]] = {}
    for one in planned:
        follow = one.body.get("after")
        named = follow.get("schedule") if isinstance(follow, Mapping) else None
        parents[one.name] = [named] if isinstance(named, str) else [str(name) for name in named or ()]
    depth = dict.fromkeys(parents, 0)
    for _ in range(len(parents)):
        deeper = {name: 1 + max((depth.get(above, 0) for above in its), default=-1) for name, its in parents.items()}
        if deeper == depth or max(deeper.values(), default=0) > len(parents):
            break
        depth = deeper
    return depth


def _batches(planned: Sequence[_PlannedImport], places: Sequence[int]) -> Iterator[list[int]]:
    """Places of documents that are sent in one request: its body has a limit, and its answer must come in time."""
    batch: list[int] = []
    size = 0
    for place in places:
        length = len(json.dumps(planned[place].body))
        if batch and (len(batch) == BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(place)
        size += length
    if batch:
        yield batch


def _created(client: Client, batch: Sequence[_PlannedImport]) -> list[Row]:
    try:
        answer = client.post("/api/schedules/batch", {"schedules": [one.body for one in batch], "atomic": False})
    except Failure as refused:
        return [one.row("refused", str(refused)) for one in batch]
    return [
        one.row("created", "", item["id"]) if item["outcome"] == "created" else one.row("refused", _why(item["errors"]))
        for one, item in zip(batch, answer["items"], strict=True)
    ]


def _why(errors: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{error['field']}: {error['message']}".removeprefix(": ") for error in errors)


def _replaced(client: Client, one: _PlannedImport) -> Row:
    try:
        client.put(f"/api/schedules/{segment(one.known)}", one.body)
    except Failure as refused:
        return one.row("refused", str(refused))
    return one.row("replaced")
