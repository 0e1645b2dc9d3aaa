"""A tool: its arguments, the permissions that it needs, and what performs it. Knows nothing of the protocol."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import TypeAdapter

from foliot.commands.envelope import Permission, UseCases, permissions_of
from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.core.access import Caller, Verb, may, require
from foliot.core.declaration import read
from foliot.core.errors import Invalid, NotFound
from foliot.features.mcp.model import DraftTerms
from foliot.features.mcp.schema import Draft
from foliot.features.search.usecases import ReferenceKind, ReferenceResolver
from foliot.servers.http import encode

MOST_BYTES = 256 * 1024
"""Of an answer: what an agent reads at once."""
_WHOLE = {
    ReferenceKind.SCHEDULE: re.compile(r"sch_[0-9a-f]{32}"),
    ReferenceKind.RUN: re.compile(r"run_[0-9a-f]{32}"),
}


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A confirmation, as the idempotency key of what it confirms."""

    key: str
    fingerprint: str

    def once(self, render: Callable[[Any], object]) -> IdempotentRequest:
        """`render` makes the tool's answer of the result."""
        return IdempotentRequest(self.key, self.fingerprint, 200, lambda made: encode.dumps(render(made)).decode())


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The caller of one request, and what it may ask."""

    cases: UseCases
    caller: Caller
    base: str
    """The address of this server, for links."""

    async def resolve(self, kind: ReferenceKind, text: str) -> str:
        """The id of what a name or the beginning of an id refers to."""
        if _WHOLE[kind].fullmatch(text):
            return text
        found = await self.cases[ReferenceResolver].resolve(self.caller, kind, text.replace("\x00", ""))
        if len(found.matches) > 1:
            listed = ", ".join(f"{one.value} ({one.label})" for one in found.matches)
            raise Invalid(kind.value, f"several match, give one of these ids: {listed}", got=text)
        if not found.matches:
            if found.suggestions:
                known = ", ".join(found.suggestions)
                raise Invalid(kind.value, f"there is none of this name; did you mean: {known}", got=text)
            raise NotFound(kind.value, text)
        return found.matches[0].value

    async def drafted(
        self,
        terms: DraftTerms,
        confirm: str | None,
        draft: Callable[[], Awaitable[Draft]],
        perform: Callable[[Confirmed], Awaitable[Any]],
    ) -> Any:
        """The draft, with its confirmation; or, confirmed, what `perform` does, once for each confirmation."""
        if confirm is None:
            found = await draft()
            found.confirm = terms.token()
            return found
        terms.check(confirm)
        try:
            return await perform(Confirmed(f"mcp-{confirm}", terms.digest()))
        except AnsweredBefore as before:
            return orjson.loads(before.body)


Perform = Callable[[ToolCall, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One tool."""

    name: str
    title: str
    description: str
    arguments: type[Any]
    needs: Sequence[Permission]
    perform: Perform

    @property
    def writes(self) -> bool:
        return any(verb is not Verb.READ for verb, _ in self.needs)

    def allowed(self, caller: Caller) -> bool:
        return all(may(caller, *need) for need in self.needs)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return TypeAdapter(self.arguments).json_schema()

    async def call(self, call: ToolCall, raw: Mapping[str, Any]) -> bytes:
        """The answer as JSON; raises what use cases raise."""
        for need in self.needs:
            require(call.caller, *need)
        answer = encode.dumps(await self.perform(call, read(self.arguments, dict(raw))))
        if len(answer) > MOST_BYTES:
            rule = f"the answer would have more than {MOST_BYTES // 1024} KiB: ask for less, by a filter or a limit"
            raise Invalid(self.name, rule)
        return answer


@dataclass(slots=True)
class Toolbox:
    """Tools by name, filled by `@toolbox.tool(…)` on functions."""

    tools: dict[str, AgentTool] = field(default_factory=dict)

    def __iter__(self) -> Iterator[AgentTool]:
        return iter(self.tools.values())

    def tool(self, arguments: type[Any], *use_cases: Callable[..., object], title: str) -> Callable[[Perform], Perform]:
        """Register a function under its name. Its docstring is what an agent reads; it needs what these use cases
        need."""

        def add(perform: Perform) -> Perform:
            needs = tuple(dict.fromkeys(one for case in use_cases for one in permissions_of(case)))
            words = " ".join((perform.__doc__ or "").split())
            name: str = perform.__name__
            self.tools[name] = AgentTool(
                name=name, title=title, description=words, arguments=arguments, needs=needs, perform=perform
            )
            return perform

        return add
