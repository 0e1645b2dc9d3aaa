"""Runs pipelines of a file without a server, for `foliot pipeline run` and SCHEDULER_MODE=legacy."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from foliot.core.redact import Redactor
from foliot.engine.model.run import AttemptError, Cancelled, Failed, HandedBack, Lost, Outcome, Parked, Succeeded
from foliot.terminal.output import Exit, Failure, count, note, print_json, printable

if TYPE_CHECKING:
    from pathlib import Path

    from foliot.app.build import App
    from foliot.config.settings import Settings
    from foliot.features.pipelines.model import FileContents, PipelineDefinition

MEMORY = "sqlite+aiosqlite:///:memory:"


@dataclass(slots=True)
class StderrLog:
    """Prints the log of a run to standard error, without the secrets that it used."""

    quiet: bool = False
    _hidden: set[str] = field(default_factory=set)

    def log(self, message: str, level: str = "info", **_: Any) -> None:
        if not self.quiet or level in ("warning", "error", "critical"):
            typer.echo(f"{level}: {self.redacted(message)}", err=True)

    def hide(self, *values: str) -> None:
        self._hidden.update(values)

    def redacted(self, text: str) -> str:
        return "\n".join(printable(line) for line in Redactor.of(self._hidden).text(text).splitlines())


def read_file(settings: Settings, path: Path) -> FileContents:
    """Parse a file, with the transforms that are installed here."""
    from foliot.db.clock import StoreClock
    from foliot.features.pipelines.file.parse import MAX_BYTES
    from foliot.features.pipelines.wiring import load, reader

    catalogue = load(settings.transforms)
    for fault in catalogue.faults():
        note(fault)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as failed:
        raise Failure(f"{path}: cannot be read ({failed.strerror})") from None
    return reader(settings, catalogue).read(raw, str(path), StoreClock().now())


def run_here(settings: Settings, definitions: Sequence[PipelineDefinition], *, as_json: bool) -> int:
    """Run them one after the other; the exit code tells whether all of them succeeded."""
    return asyncio.run(_run(settings, definitions, as_json=as_json))


def legacy(settings: Settings) -> int:
    """Run every pipeline of the file once, as before there was a scheduler."""
    if settings.pipelines is None:
        raise Failure("SCHEDULER_MODE: legacy needs a file of pipelines: set PIPELINES_CONFIG or --pipelines FILE")
    sheet = read_file(settings, settings.pipelines)
    faults = [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]
    for fault in faults:
        note(str(fault))
    definitions = [one.definition for one in sheet.pipelines if one.definition is not None]
    ended = run_here(settings, definitions, as_json=False)
    return Exit.FAILED if faults else ended


async def _run(settings: Settings, definitions: Sequence[PipelineDefinition], *, as_json: bool) -> int:
    app = await _app(settings)
    mine = asyncio.current_task()
    if mine is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, mine.cancel)
    failed = 0
    try:
        await app.egress.start()
        # Turns at hosts: they are shared with the other processes of this database.
        app.loop.start(app.actors)
        for definition in definitions:
            log = StderrLog(quiet=as_json)
            outcome = await _perform(app, definition, log)
            failed += not isinstance(outcome, Succeeded) or outcome.degraded is not None
            _show(definition, outcome, log, as_json=as_json)
    except asyncio.CancelledError:
        note("stopped: what was being written is discarded")
        return Exit.FAILED
    finally:
        await app.stop()
    return Exit.FAILED if failed else Exit.DONE


async def _app(settings: Settings) -> App:
    """The parts that steps need. Without a database one is created in memory; it has no secrets."""
    from foliot.app import build
    from foliot.app.database import current_revision
    from foliot.cli.database import refuse_other_revision

    if settings.is_sqlite:
        path = settings.sqlite_path
        revision, newest = (None, "")
        if path is not None and path.exists():
            revision, newest = await current_revision(settings)
        if revision is None or revision != newest:
            return await _in_memory(settings)
    else:
        await refuse_other_revision(settings)
    return build.build(settings, http=False, engine=False)


async def _in_memory(settings: Settings) -> App:
    from foliot.app import build
    from foliot.db.migrate import create

    app = build.build(replace(settings, database_url=MEMORY), http=False, engine=False)
    async with app.store.engines.write.connect() as conn:
        await create(conn)
        await conn.commit()
    return app


async def _perform(app: App, definition: PipelineDefinition, log: StderrLog) -> Outcome:
    from foliot.core.ids import RUN, new_id
    from foliot.engine.ports import ActionContext

    action = app.pipelines.action
    ctx = ActionContext(
        run_id=new_id(RUN),
        tenant_id=app.settings.pipelines_tenant,
        schedule_id=None,
        kind=action.kind,
        attempt=1,
        max_attempts=1,
        scheduled_for=None,
        config={"pipeline": definition.name},
        timeout=action.timeout,
        now=app.clock.now(),
        log=log.log,
        hide=log.hide,
    )
    return await action.perform_definition(ctx, definition)


def _show(definition: PipelineDefinition, outcome: Outcome, log: StderrLog, *, as_json: bool) -> None:
    state, result = _result(outcome, log)
    if as_json:
        print_json({"pipeline": definition.name, "revision": definition.revision, "state": state, **result})
        return
    what = result["error"]["message"] if "error" in result else count(result.get("items", 0), "item")
    left = f", {result['failed']} failed" if result.get("failed") else ""
    typer.echo(f"{definition.name}: {state}, {what}{left}")


def _result(outcome: Outcome, log: StderrLog) -> tuple[str, dict[str, Any]]:
    match outcome:
        case Succeeded(result=result, degraded=AttemptError() as broken):
            return "degraded", {**dict(result or {}), "error": broken.as_dict()}
        case Succeeded(result=result, partial=partial):
            return ("partial" if partial else "success"), dict(result or {})
        case Failed(problem=problem):
            return "failed", {"error": {**problem.as_dict(), "message": log.redacted(problem.message)}}
        case Cancelled() | HandedBack() | Lost() | Parked():
            return "cancelled", {}
