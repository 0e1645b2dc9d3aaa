"""Checks the connections: database, broker, Redis, MongoDB, Scrapyd nodes, services of the address book, Discord."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from foliot.cli.check import Finding
from foliot.features.expectations.usecases import DataJudge
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.core.egress import ServiceAddress
    from foliot.features.crawls.action.scrapyd_nodes import NodeStatus
    from foliot.features.grpc_calls.action import GrpcCall


NO_ROW_LEVEL_SECURITY = (
    "does not enforce row-level security, because this user may not create a role; have an administrator run "
    "CREATE ROLE foliot_tenant NOLOGIN; GRANT foliot_tenant TO the user of this URL; then run foliot migrate"
)


async def check_database(settings: Settings) -> list[Finding]:
    key = "DATABASE_URL"
    if settings.is_sqlite:
        path = settings.sqlite_path
        if path is None:
            return [Finding("warning", key, "is in memory: everything is lost when the process ends")]
        if not path.exists():
            return [Finding("ok", key, f"{path} does not exist yet; foliot up creates it")]
    from foliot.app.database import current_revision, has_row_level_security
    from foliot.core.errors import Conflict, FoliotError
    from foliot.db.migrate import refuse_newer

    try:
        found, newest = await current_revision(settings)
        refuse_newer(found, settings.database_shown)
    except (FoliotError, OSError) as failed:
        message = f"must be reachable, got {settings.database_shown}: {failed}"
        return [Finding("error", key, str(failed) if isinstance(failed, Conflict) else message)]
    if found != newest:
        state = f"is at revision {found or 'none'}, newest is {newest}; run foliot migrate (foliot up does it too)"
        return [Finding("warning", key, f"{settings.database_shown} {state}")]
    answers = Finding("ok", key, f"{settings.database_shown} answers, revision {newest}")
    if not settings.database_url.startswith("postgresql") or await has_row_level_security(settings):
        return [answers]
    return [answers, Finding("warning", key, NO_ROW_LEVEL_SECURITY)]


BROKER_KEY = "FOLIOT_BROKER_URL"


async def check_broker(settings: Settings) -> list[Finding]:
    """Whether the broker answers. Foliot starts without it, and its runs wait."""
    shown = settings.broker_shown
    if shown is None:
        return []
    if settings.is_sqlite:
        return [Finding("warning", BROKER_KEY, f"{shown} is not used: on SQLite one process does everything")]
    from foliot.app import transport
    from foliot.core.errors import Unavailable

    broker = transport.broker(settings)
    assert broker is not None  # noqa: S101 -- its URL is set
    try:
        await broker.check()
    except Unavailable as away:
        return [Finding("error", BROKER_KEY, f"must be reachable, got {shown}: {away}")]
    finally:
        await broker.close()
    return [Finding("ok", BROKER_KEY, f"{shown} answers; it carries runs from schedulers to workers")]


REDIS_KEY = "REDIS_URL"


async def check_redis(settings: Settings) -> list[Finding]:
    """Whether Redis answers. Foliot starts without it, and other processes poll instead of being woken."""
    if settings.redis_url is None:
        return []
    from foliot.config.connections import masked

    shown = masked(settings.redis_url.reveal())
    if settings.is_sqlite:
        return [Finding("warning", REDIS_KEY, f"{shown} is not used: on SQLite one process does everything")]
    from foliot.wakeups.redis import answers

    try:
        await answers(settings.redis_url.reveal())
    except Exception as failed:  # noqa: BLE001 -- whatever the driver raises: it cannot be used
        reason = str(failed) or "no answer within 5 s"
        return [Finding("error", REDIS_KEY, f"must be reachable, got {shown}: {reason.splitlines()[0][:300]}")]
    return [Finding("ok", REDIS_KEY, f"{shown} answers; it wakes other processes")]


MONGO_KEY = "FOLIOT_MONGO_URI"


async def check_mongo(settings: Settings) -> list[Finding]:
    """Whether MongoDB answers. Foliot starts without it, and copies later what it missed."""
    if settings.mongo_uri is None:
        return []
    from foliot.core.errors import Invalid
    from foliot.features.articles.mongo import MongoArticles, SinkUnavailable

    try:
        sink = MongoArticles(settings.mongo_uri.reveal(), settings.mongo_db_name)
    except Invalid as wrong:
        return [Finding("error", MONGO_KEY, wrong.message)]
    try:
        await sink.check()
    except SinkUnavailable as away:
        return [Finding("error", MONGO_KEY, f"must be reachable, got {away.told}")]
    finally:
        await sink.close()
    return [
        Finding(
            "ok", MONGO_KEY, f"answers; jobs, articles and items are copied to the database {settings.mongo_db_name}"
        )
    ]


SCRAPYD_KEY = "SCRAPYD_URL"


async def check_scrapyd(settings: Settings) -> list[Finding]:
    """Whether each node answers and has the project. Foliot starts without them, and crawls wait."""
    if not settings.scrapyd_urls:
        return []
    from foliot.db.clock import StoreClock
    from foliot.features.crawls import wiring
    from foliot.net.client import HttpEgress

    clock = StoreClock()
    crawl, egress = wiring.build_crawls(settings, HttpEgress(), clock, DataJudge(store=None, clock=clock))
    async with egress:
        seen = await crawl.seen()
        lacking = await crawl.lacking(settings.scrapyd_project, [each.url for each in seen if each.error is None])
    return [_finding(each, settings.scrapyd_project, lacks=each.url in lacking) for each in seen]


def _finding(seen: NodeStatus, project: str, *, lacks: bool) -> Finding:
    if seen.load is None:
        return Finding("error", SCRAPYD_KEY, f"must be a Scrapyd that answers, got {seen.url}: {seen.error}")
    if lacks:
        return Finding(
            "warning", SCRAPYD_KEY, f"{seen.url} answers but has no project {project}: run foliot crawl deploy"
        )
    return Finding("ok", SCRAPYD_KEY, f"{seen.url} answers, with {count(seen.load.running, 'crawl')} running")


SERVICE_PATIENCE = 5.0


async def check_services(settings: Settings) -> list[Finding]:
    """Whether services answer and support reflection. Foliot starts without them, and runs that call them fail."""
    import asyncio

    from foliot.config.address_book import unread

    unreadable = [
        Finding(
            "warning",
            key,
            "looks like the address of a service but is not: expected host:port, or a grpc, grpcs, http or https URL",
        )
        for key in unread(os.environ)
    ]
    if not settings.services.entries:
        return unreadable
    from foliot.db.clock import StoreClock
    from foliot.features.grpc_calls.action import GrpcCall
    from foliot.net.grpc_client import GrpcEgress

    calls = GrpcEgress(book=settings.services, ca_file=settings.services_ca)
    action = GrpcCall(calls=calls, clock=StoreClock())
    try:
        entries = [settings.services.entries[name] for name in sorted(settings.services.entries)]
        return unreadable + await asyncio.gather(*(_ask(action, entry) for entry in entries))
    finally:
        await calls.close()


async def _ask(action: GrpcCall, entry: ServiceAddress) -> Finding:
    if not entry.scheme.speaks_grpc:
        return Finding("ok", entry.name, f"{entry.url}, not checked because it is not gRPC; {_whose(entry)}")
    import asyncio

    from foliot.features.grpc_calls.service_catalogue import ServiceError
    from foliot.net.grpc_call import CallFailed

    try:
        async with asyncio.timeout(SERVICE_PATIENCE):
            methods = await action.methods(entry.name)
    except TimeoutError:
        return Finding("warning", entry.name, f"{entry.url} does not answer within {SERVICE_PATIENCE:g} s")
    except CallFailed as failed:
        return Finding("warning", entry.name, f"{entry.url} cannot be reached ({failed.status}): {failed.message}")
    except ServiceError as trouble:
        return Finding("warning", entry.name, f"{entry.url} {trouble}")
    return Finding("ok", entry.name, f"{entry.url} answers with {count(len(methods), 'method')}; {_whose(entry)}")


def _whose(entry: ServiceAddress) -> str:
    """Which tenants may call it, and which methods."""
    what = "" if entry.methods is None else f", {', '.join(sorted(entry.methods))} only"
    return f"for {', '.join(entry.tenants.listed())}{what}"


DISCORD_KEY = "DISCORD_TOKEN"
DISCORD_PATIENCE = timedelta(seconds=5)
NO_ROLES = "is not set: no role may use Foliot from Discord; give ids of roles, as in 123456789012345678=operator"


async def check_discord(settings: Settings) -> list[Finding]:
    """Whether Discord knows the bot, and whether any role may use it."""
    from importlib.util import find_spec

    if settings.discord_token is None:
        return []
    roles = [] if settings.discord_roles else [Finding("warning", "FOLIOT_DISCORD_ROLES", NO_ROLES)]
    if find_spec("discord") is None:
        return [
            *roles,
            Finding("error", DISCORD_KEY, "needs discord.py, which is not installed: pip install 'foliot[discord]'"),
        ]
    return [*roles, await _asked(settings)]


async def _asked(settings: Settings) -> Finding:
    import orjson

    from foliot.core.egress import EgressFailed, EgressRefused, OutgoingRequest
    from foliot.net.client import HttpEgress
    from foliot.net.url import read_url

    url = f"{settings.discord_api}/users/@me"
    target = read_url(url)
    host = f"[{target.host}]" if ":" in target.host else target.host
    egress = HttpEgress(allow=[f"{host}:{target.port}"], ports=())
    token = "" if settings.discord_token is None else settings.discord_token.reveal()
    await egress.start()
    try:
        reply = await egress.send(
            OutgoingRequest(method="GET", url=url, headers={"Authorization": f"Bot {token}"}, timeout=DISCORD_PATIENCE)
        )
    except (EgressFailed, EgressRefused) as failed:
        return Finding(
            "warning", DISCORD_KEY, f"{settings.discord_api} cannot be reached now: {failed}; Foliot starts without it"
        )
    finally:
        await egress.close()
    if reply.status in (401, 403):
        return Finding("error", DISCORD_KEY, "is refused by Discord: copy the bot's token again")
    if reply.status != 200:
        return Finding(
            "warning", DISCORD_KEY, f"{settings.discord_api} answers {reply.status}; Foliot starts without it"
        )
    try:
        name = str(orjson.loads(reply.body)["username"])[:100]
    except (ValueError, KeyError, TypeError):
        return Finding("warning", DISCORD_KEY, f"{settings.discord_api} does not answer like Discord")
    return Finding("ok", DISCORD_KEY, f"belongs to the bot {name}")
