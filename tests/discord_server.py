"""A stand-in for Discord: its HTTP API and its gateway, as far as a bot with commands sees them. Speaks the protocol.

The gateway keeps every event of a session until a new one is identified, so that a connection that was cut can resume
where it was. What the bot sends is kept in `sent`, for the tests to look at.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.not-a-real-token-but-as-long-as-one"
APPLICATION = 100000000000000001
GUILD = 200000000000000002
CHANNEL = 300000000000000003
OPERATORS = 400000000000000004
VIEWERS = 400000000000000005
NOBODIES = 400000000000000006
MEMBER = 500000000000000007
HELLO, IDENTIFY, RESUME, HEARTBEAT, ACK, INVALID, RECONNECT, DISPATCH = 10, 2, 6, 1, 11, 9, 7, 0
COMMAND, COMPONENT, AUTOCOMPLETE = 2, 3, 4
PRIVATE = 64
"""The flag of a message that only one member sees."""
BOT = {"id": str(APPLICATION), "username": "foliot", "discriminator": "0", "avatar": None, "bot": True}


@dataclass
class Sent:
    """What the bot sent: to where, and what."""

    method: str
    path: str
    body: Any
    authorization: str | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The message in it."""
        return dict(self.body.get("data") or {} if self.path.endswith("/callback") else self.body)

    @property
    def private(self) -> bool:
        return bool(int(self.data.get("flags") or 0) & PRIVATE)


@dataclass
class Session:
    """One identified session: every event that belongs to it, in order."""

    id: str
    events: list[dict[str, Any]] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


@dataclass
class DiscordServer:
    """Say what it should do, look at what it got."""

    token: str = TOKEN
    url: str = ""
    sent: list[Sent] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    guild: int = 0
    """Where the commands were registered; 0 is everywhere."""
    got: Counter[str] = field(default_factory=Counter)
    """How often the gateway was asked what."""
    acknowledged: set[str] = field(default_factory=set)
    limits: list[dict[str, Any]] = field(default_factory=list)
    """Answers to the next messages in channels instead of taking them: `status`, `headers`, `body`."""
    headers: list[dict[str, str]] = field(default_factory=list)
    """Headers of the next messages that are taken."""
    refuse_resume: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    """Clear it, and nobody gets in."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _ids: itertools.count[int] = field(default_factory=itertools.count)

    # --- what tests do ---

    def interaction(self, kind: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        """An interaction of a member with these roles; `roles`, `user`, `guild_id`, `message`, `id` as given."""
        number = more.pop("id", None) or self.snowflake()
        user = {"id": str(more.pop("user", MEMBER)), "username": "anna", "discriminator": "0", "avatar": None}
        member = {
            "user": user,
            "roles": [str(role) for role in more.pop("roles", [OPERATORS])],
            "joined_at": "2026-01-01T00:00:00+00:00",
            "deaf": False,
            "mute": False,
            "flags": 0,
            "permissions": "0",
        }
        made = {
            "id": str(number),
            "application_id": str(APPLICATION),
            "type": kind,
            "token": f"token-{number}",
            "version": 1,
            "guild_id": str(GUILD),
            "channel": {"id": str(CHANNEL), "type": 0, "name": "ops", "position": 0, "permission_overwrites": []},
            "channel_id": str(CHANNEL),
            "data": data,
            "member": member,
            "attachment_size_limit": 1000,
            "entitlements": [],
            **more,
        }
        if made["guild_id"] is None:
            made["user"] = user
            made.pop("member"), made.pop("guild_id")
        return made

    def command(self, name: str, kind: int = COMMAND, **given: Any) -> dict[str, Any]:
        """`/name`; what belongs to the member stands in `about`."""
        about = given.pop("about", {})
        focused = given.pop("focused", None)
        options = [
            {"type": 3, "name": key, "value": text, **({"focused": True} if key == focused else {})}
            for key, text in given.items()
        ]
        # Discord says so of a command that was registered in one server.
        where = {"guild_id": str(self.guild)} if self.guild else {}
        return self.interaction(kind, {"id": "1", "name": name, "type": 1, "options": options, **where}, **about)

    def press(self, message: dict[str, Any], label: str, **about: Any) -> dict[str, Any]:
        """A button of a message that was sent, found by its label."""
        found = [one for row in message["components"] for one in row["components"] if one["label"] == label]
        data = {"custom_id": found[0]["custom_id"], "component_type": 2}
        return self.interaction(COMPONENT, data, message=self.message(message), **about)

    def message(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": str(self.snowflake()),
            "channel_id": str(CHANNEL),
            "author": BOT,
            "content": data.get("content") or "",
            "timestamp": "2026-01-01T00:00:00+00:00",
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": data.get("embeds") or [],
            "components": data.get("components") or [],
            "pinned": False,
            "type": 20,
            "flags": data.get("flags") or 0,
        }

    async def fire(self, event: dict[str, Any], *, times: int = 1) -> None:
        """Put it on the newest session; who is connected gets it now, who is not, when they resume."""
        session = list(self.sessions.values())[-1]
        for _ in range(times):
            await self._put(session, event)

    async def _put(self, session: Session, event: dict[str, Any]) -> None:
        packet = {"op": DISPATCH, "t": "INTERACTION_CREATE", "s": len(session.events) + 1, "d": event}
        session.events.append(packet)
        if session.socket is not None and not session.socket.closed:
            await session.socket.send_str(json.dumps(packet))

    async def fire_everywhere(self, event: dict[str, Any]) -> None:
        """On every session, as Discord does for a bot that is connected twice."""
        for session in self.sessions.values():
            await self._put(session, event)

    async def ask(self, event: dict[str, Any], seconds: float = 20) -> Sent:
        """Fire it, and wait for its answer."""
        await self.fire(event)
        return await self.answer(event, seconds)

    async def answer(self, event: dict[str, Any], seconds: float = 20) -> Sent:
        answers: list[Sent] = await self.until(lambda: self.of(event), seconds)
        return answers[0]

    def of(self, event: dict[str, Any], ending: str = "") -> list[Sent]:
        """Everything the bot sent for this interaction."""
        return [one for one in self.sent if event["token"] in one.path and one.path.endswith(ending)]

    async def until(self, look: Callable[[], Any], seconds: float = 20) -> Any:
        """Wait until there is something to see."""
        async with asyncio.timeout(seconds), self.changed:
            await self.changed.wait_for(look)
            return look()

    async def cut(self) -> None:
        """As a network does: no farewell."""
        for session in self.sessions.values():
            if session.socket is not None and (transport := session.socket._req.transport) is not None:  # type: ignore[union-attr]
                transport.abort()
            session.socket = None

    def snowflake(self) -> int:
        return 900000000000000000 + next(self._ids)

    # --- what the bot meets ---

    async def _note(self, request: web.Request) -> Sent:
        body: Any = {}
        if request.can_read_body:
            body = await request.json() if "json" in request.content_type else {}
        one = Sent(request.method, request.path, body, request.headers.get("Authorization"))
        async with self.changed:
            self.sent.append(one)
            self.changed.notify_all()
        return one

    async def _heard(self, what: str) -> None:
        async with self.changed:
            self.got[what] += 1
            self.changed.notify_all()

    async def me(self, request: web.Request) -> web.Response:
        await self._heard("login")
        await self.answers.wait()
        if request.headers.get("Authorization") != f"Bot {self.token}":
            await self._heard("refused")
            return _json({"message": "401: Unauthorized", "code": 0}, 401)
        return _json(BOT)

    async def application(self, _: web.Request) -> web.Response:
        told: dict[str, Any] = {
            "id": str(APPLICATION),
            "name": "foliot",
            "description": "",
            "icon": None,
            "rpc_origins": [],
        }
        return _json(
            {
                **told,
                "rpc_origins": [],
                "bot_public": False,
                "bot_require_code_grant": False,
                "owner": BOT,
                "verify_key": "",
                "flags": 0,
            }
        )

    async def where(self, _: web.Request) -> web.Response:
        limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
        return _json({"url": self.gateway_url, "shards": 1, "session_start_limit": limit})

    @property
    def gateway_url(self) -> str:
        return self.url.replace("http://", "ws://") + "/gateway"

    async def register(self, request: web.Request) -> web.Response:
        one = await self._note(request)
        self.guild = int(request.match_info.get("guild", 0))
        self.commands = [
            {"id": str(self.snowflake()), "application_id": str(APPLICATION), "version": "1", "type": 1, **command}
            for command in one.body
        ]
        return _json(self.commands)

    async def callback(self, request: web.Request) -> web.Response:
        one = await self._note(request)
        number = request.match_info["id"]
        if number in self.acknowledged:
            return _json({"message": "Interaction has already been acknowledged.", "code": 40060}, 400)
        self.acknowledged.add(number)
        interaction = {"id": number, "type": 2, "response_message_id": str(self.snowflake())}
        made: dict[str, Any] = {"interaction": interaction}
        if one.body["type"] in (4, 7):
            made["resource"] = {"type": one.body["type"], "message": self.message(one.data)}
        return _json(made)

    async def edit(self, request: web.Request) -> web.Response:
        return _json(self.message((await self._note(request)).body))

    async def take(self, request: web.Request) -> web.Response:
        """A message in a channel."""
        one = await self._note(request)
        if self.limits:
            told = self.limits.pop(0)
            return _json(told.get("body", {}), told["status"], told.get("headers", {}))
        return _json(self.message(one.body), 200, self.headers.pop(0) if self.headers else {})

    async def delete(self, request: web.Request) -> web.Response:
        await self._note(request)
        return web.Response(status=204)

    async def gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"op": HELLO, "d": {"heartbeat_interval": 41_250}, "s": None, "t": None}))
        async for packet in socket:
            if packet.type is not WSMsgType.TEXT:
                break
            asked = json.loads(packet.data)
            if asked["op"] == HEARTBEAT:
                await socket.send_str(json.dumps({"op": ACK}))
            elif asked["op"] == IDENTIFY:
                await self._identify(socket, asked["d"])
            elif asked["op"] == RESUME:
                await self._resume(socket, asked["d"])
        return socket

    async def _identify(self, socket: web.WebSocketResponse, asked: dict[str, Any]) -> None:
        if asked["token"] != self.token:
            await socket.close(code=4004, message=b"Authentication failed.")
            return
        session = Session(f"session-{len(self.sessions)}", socket=socket)
        ready = {
            "v": 10,
            "user": BOT,
            "guilds": [{"id": str(GUILD), "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.gateway_url,
            "application": {"id": str(APPLICATION), "flags": 0},
            "private_channels": [],
        }
        session.events.append({"op": DISPATCH, "t": "READY", "s": 1, "d": ready})
        self.sessions[session.id] = session
        await socket.send_str(json.dumps(session.events[0]))
        await self._heard("identify")

    async def _resume(self, socket: web.WebSocketResponse, asked: dict[str, Any]) -> None:
        session = self.sessions.get(asked["session_id"])
        if session is None or self.refuse_resume:
            await socket.send_str(json.dumps({"op": INVALID, "d": False, "s": None, "t": None}))
            await self._heard("invalid")
            return
        for packet in session.events[asked["seq"] :]:
            await socket.send_str(json.dumps(packet))
        session.socket = socket
        await socket.send_str(json.dumps({"op": DISPATCH, "t": "RESUMED", "s": len(session.events), "d": {}}))
        await self._heard("resume")


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    # Exactly this type: with a charset the library would take it for text.
    kind = {"Content-Type": "application/json"}
    return web.Response(body=json.dumps(body).encode(), status=status, headers={**kind, **(headers or {})})


async def _page(_: web.Request) -> web.Response:
    """For pipelines that fetch something."""
    return web.Response(text="hello", content_type="text/html")


@asynccontextmanager
async def a_discord(port: int = 0) -> AsyncIterator[DiscordServer]:
    """A Discord on loopback, which nobody else knows."""
    server = DiscordServer()
    server.answers.set()
    app = web.Application()
    root, hook = "/api/v10", f"/api/v10/webhooks/{APPLICATION}/{{token}}"
    app.add_routes(
        [
            web.get(f"{root}/users/@me", server.me),
            web.get(f"{root}/oauth2/applications/@me", server.application),
            web.get(f"{root}/gateway/bot", server.where),
            web.put(f"{root}/applications/{APPLICATION}/commands", server.register),
            web.put(f"{root}/applications/{APPLICATION}/guilds/{{guild}}/commands", server.register),
            web.post(f"{root}/interactions/{{id}}/{{token}}/callback", server.callback),
            web.patch(f"{hook}/messages/@original", server.edit),
            web.delete(f"{hook}/messages/@original", server.delete),
            web.post(hook, server.edit),
            web.post(f"{root}/channels/{{channel}}/messages", server.take),
            web.patch(f"{root}/channels/{{channel}}/messages/{{message}}", server.edit),
            web.get("/gateway", server.gateway),
            web.get("/page", _page),
        ]
    )
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    host, number = runner.addresses[0][:2]
    server.url = f"http://{host}:{number}"
    try:
        yield server
    finally:
        server.answers.set()
        await runner.cleanup()


def api_of(server: DiscordServer) -> str:
    return f"{server.url}/api/v10"
