"""`foliot migrate`, `foliot check`, `foliot audit`: look, prove, move on."""

from __future__ import annotations

import os
import stat
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from foliot.cli.access import READ_HOUSE, WRITE_HOUSE, caller_of, needs
from foliot.cli.booking import booking
from foliot.cli.calling import calling
from foliot.cli.carrying import carrying
from foliot.cli.crawling import crawling
from foliot.cli.discord import commanding
from foliot.cli.entrance import Finding, entrance
from foliot.cli.options import Home, Json
from foliot.cli.printing import Exit, Failure, count, counting, one_line_errors, print_json, printable, table
from foliot.cli.sinks import copying
from foliot.cli.tasking import tasking
from foliot.cli.transforming import transforming
from foliot.cli.volatile import FORGETS, volatile
from foliot.cli.waking import waking
from foliot.features.health.usecases.health import Wellbeing
from foliot.features.ledger.usecases import Audit

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.ledger.usecases import Proof


NO_WALL = (
    "does not keep tenants apart by itself, since this user may not make a role; let an administrator run "
    "CREATE ROLE foliot_tenant NOLOGIN; GRANT foliot_tenant TO the user of this URL; then run foliot migrate"
)


@needs(WRITE_HOUSE)
def migrate(home: Home = None) -> None:
    """Bring the database to the newest revision. `foliot up` does it by itself."""
    import asyncio

    from foliot.config.settings import Settings
    from foliot.db.file_lock import make_private, only_one
    from foliot.db.migrate import refuse_newer

    with one_line_errors():
        from foliot.app import build

        settings = Settings.load(os.environ, home=home)
        make_private(settings.sqlite_path)
        found, newest = asyncio.run(build.current_revision(settings))
        refuse_newer(found, settings.database_shown)
        with only_one(settings.sqlite_path if found != newest else None):
            before, after = asyncio.run(build.migrate(settings))
        if before == after:
            typer.echo(f"{settings.database_shown} is at the newest revision, {newest}.")
            return
        typer.echo(f"{settings.database_shown} went from revision {before or 'none'} to {after}.")


@needs(READ_HOUSE)
def check(home: Home = None, as_json: Json = False) -> None:
    """Check settings and connections; every complaint names the key, the rule and what it got."""
    import asyncio

    from foliot.config.parse import SettingsError
    from foliot.config.settings import Settings

    with one_line_errors():
        findings = _unused()
        try:
            settings = Settings.load(os.environ, home=home)
        except SettingsError as wrong:
            findings += [Finding("error", each.field, _rule(each)) for each in wrong.complaints]
        else:
            findings += _egress(settings) + _places(settings) + _shared(settings)
            findings += asyncio.run(entrance(settings)) + asyncio.run(_database(settings)) + tasking(settings)
            findings += transforming(settings) + booking(settings)
            findings += asyncio.run(waking(settings)) + asyncio.run(carrying(settings))
            findings += asyncio.run(crawling(settings)) + asyncio.run(calling(settings, os.environ))
            findings += asyncio.run(commanding(settings)) + asyncio.run(copying(settings))
        findings.sort(key=lambda finding: ("error", "warning", "ok").index(finding.level))
        failed = any(finding.level == "error" for finding in findings)
        if as_json:
            print_json({"ok": not failed, "findings": [asdict(finding) for finding in findings]})
        else:
            rows = [(finding.level, finding.key, finding.message) for finding in findings]
            table(("", "key", "what"), rows, empty="nothing to say")
        raise typer.Exit(Exit.FAILED if failed else Exit.DONE)


def _rule(complaint: Any) -> str:
    return str(complaint).removeprefix(f"{complaint.field}: ")


def _unused() -> list[Finding]:
    from foliot.config.unknown_keys import unused

    return [
        Finding("warning", key, f"accepted, not used in this version ({purpose})")
        for key, purpose in unused(os.environ)
    ]


def _egress(settings: Settings) -> list[Finding]:
    from foliot.core.errors import Invalid
    from foliot.net.allow import Rules

    try:
        Rules.read(loopback=settings.local, allow=settings.egress_allow, ports=settings.egress_ports)
    except Invalid as wrong:
        return [Finding("error", wrong.field, _rule(wrong))]
    return []


def _places(settings: Settings) -> list[Finding]:
    """Directories that must be writable; one that does not exist yet is judged by its nearest parent."""
    found = []
    for key, path in (("FOLIOT_HOME", settings.home), ("FOLIOT_LOG_DIR", settings.log_dir)):
        if path is None:
            continue
        nearest = next(place for place in (path, *path.parents) if place.exists())
        if not nearest.is_dir():
            found.append(Finding("error", key, f"must be a directory, got {path}: {nearest} is a file"))
        elif not os.access(nearest, os.W_OK | os.X_OK):
            found.append(Finding("error", key, f"must be writable by this user, got {path}"))
        else:
            found.append(Finding("ok", key, str(path)))
    if kind := volatile(settings.home):
        found.append(Finding("warning", "FOLIOT_HOME", FORGETS.format(path=settings.home, kind=kind)))
    return found


def _shared(settings: Settings) -> list[Finding]:
    """A database file that others on this machine can read; new ones are made so that they cannot."""
    path = settings.sqlite_path
    mode = stat.S_IMODE(path.stat().st_mode) if path is not None and path.exists() else 0
    if os.name != "posix" or not mode & 0o077:
        return []
    return [Finding("warning", "DATABASE_URL", f"{path} is open to others (mode {mode:04o}): run chmod 600 {path}")]


async def _database(settings: Settings) -> list[Finding]:
    key = "DATABASE_URL"
    if settings.is_sqlite:
        path = settings.sqlite_path
        if path is None:
            return [Finding("warning", key, "lives in memory: everything is forgotten when the process ends")]
        if not path.exists():
            return [Finding("ok", key, f"{path} does not exist yet; foliot up makes it")]
    from foliot.app import build
    from foliot.core.errors import Conflict, FoliotError
    from foliot.db.migrate import refuse_newer

    try:
        found, newest = await build.current_revision(settings)
        refuse_newer(found, settings.database_shown)
    except (FoliotError, OSError) as failed:
        said = f"must be reachable, got {settings.database_shown}: {failed}"
        return [Finding("error", key, str(failed) if isinstance(failed, Conflict) else said)]
    if found != newest:
        state = f"is at revision {found or 'none'}, newest is {newest}; run foliot migrate (foliot up does it too)"
        return [Finding("warning", key, f"{settings.database_shown} {state}")]
    answers = Finding("ok", key, f"{settings.database_shown} answers, revision {newest}")
    if not settings.database_url.startswith("postgresql") or await build.walled(settings):
        return [answers]
    return [answers, Finding("warning", key, NO_WALL)]


@needs(READ_HOUSE)
def audit(home: Home = None, as_json: Json = False) -> None:
    """Prove the ledger: every instant of every schedule is accounted for. Exit 1 and the first hole otherwise."""
    import asyncio

    from foliot.config.settings import Settings

    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        if settings.is_sqlite and (settings.sqlite_path is None or not settings.sqlite_path.exists()):
            raise Failure(f"there is no database at {settings.database_shown} to audit: start one with foliot up")
        proof = asyncio.run(_prove(settings, everything=as_json))
        if as_json:
            print_json({"ok": not proof.holes, **asdict(proof)})
        elif proof.holes:
            hole = proof.holes[0]
            typer.echo(printable(f"not accounted: schedule {hole.schedule_id} ({hole.name}): {hole.what}"))
        else:
            typer.echo(f"all accounted: {count(proof.schedules, 'schedule')}, {count(proof.instants, 'instant')}")
        raise typer.Exit(Exit.FAILED if proof.holes else Exit.DONE)


async def _prove(settings: Settings, *, everything: bool) -> Proof:
    from foliot.app import build
    from foliot.cli.revision import refuse_other_revision

    caller = caller_of(audit)
    await refuse_other_revision(settings)
    app = build.build(settings, http=False, engine=False)
    try:
        await app.start()
        total = sum((await app.usecases[Wellbeing].numbers(caller)).schedules.values())
        with counting("schedules proved", total) as progress:
            return await app.usecases[Audit].prove(caller, progress=progress, first_only=not everything)
    finally:
        await app.stop()
