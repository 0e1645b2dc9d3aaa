"""The context of a step: run and attempt, logging, failures, and access to network, secrets and sinks.

The base class of transforms: async generators from items to items.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, NoReturn

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from foliot.core.errors import Unavailable
from foliot.core.secrets import CannotUnseal
from foliot.engine.ports import ActionLog, HideValues, ReadParent, no_parent
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchFailure, FetchOptions, FetchRequest, PageSource
from foliot.features.pipelines.chain.fetch import LARGEST, Fetched, FetchFailed, StepRequest, fetch
from foliot.features.pipelines.model import Item, OnError, SinkDatabase, SinkFiles, StepResources
from foliot.servers.http.schema import DocumentedModel

SAID = 20
"""How many failed items of a step are logged; the others are counted."""


class SecretRef(BaseModel):
    """Reference to a secret of the tenant instead of a literal value: `{secret: shop-token}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    secret: Annotated[str, Field(min_length=1, max_length=200)]


def _which(given: Any) -> str:
    return "text" if isinstance(given, str) else "reference"


Confidential = Annotated[
    Annotated[str, Tag("text")] | Annotated[SecretRef, Tag("reference")],
    Discriminator(_which),
]
"""A string that may be a secret: literal, or `{secret: name}`. A step reads it with `ctx.reveal`."""


class StepFailed(Exception):
    """Ends the attempt; `permanent` when a retry would not help."""

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


@dataclass(slots=True)
class StepCounts:
    """State and item counts of one step."""

    name: str
    state: str = "waiting"
    """waiting, running, done, failed or stopped."""
    taken: int = 0
    given: int = 0
    failed: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "in": self.taken,
            "out": self.given,
            "failed": self.failed,
            "seconds": round(max(self.seconds, 0.0), 3),
        }


@dataclass(slots=True, kw_only=True, eq=False)
class StepContext:
    """What a transform gets besides its items."""

    pipeline: str
    step: str
    run_id: str
    """The same for every attempt: use it as an idempotency key."""
    tenant_id: str
    attempt: int
    """Counts from 1."""
    now: datetime
    """When the attempt began."""
    on_error: OnError
    outside: StepResources = field(repr=False)
    tally: StepCounts = field(repr=False)
    say: ActionLog = field(repr=False)
    hide: HideValues = field(repr=False)
    parent: ReadParent = field(repr=False, default=no_parent)
    cancelled: bool = False
    """Whether the chain is being closed: a step with long work between two items checks it and returns."""

    def log(self, message: str, level: str = "info") -> None:
        """Writes a line to the log of the run, with the step's name."""
        self.say(f"{self.step}: {message}".encode("utf-8", "replace").decode(), level=level)

    def fail(self, item: Item | None, why: str, *, permanent: bool = False) -> None:
        """Reports a failed item: by `on_error` it is counted and skipped, or ends the run."""
        self.tally.failed += 1
        shown = _shown(item)
        if self.on_error == "fail":
            raise StepFailed(f"{shown}{why}", permanent=permanent)
        if self.tally.failed <= SAID:
            self.log(f"left out: {shown}{why}", "warning")
        elif self.tally.failed == SAID + 1:
            self.log("More items are left out; they are counted, but not listed.", "warning")

    def give_up(self, why: str) -> NoReturn:
        """Ends the run as failed, without further attempts."""
        raise StepFailed(why, permanent=True)

    def retry(self, why: str, after: float | None = None) -> NoReturn:
        """Ends this attempt; the next starts from the beginning, after `after` seconds or by the retry policy."""
        raise StepFailed(why, retry_after=after)

    async def fetch(  # noqa: PLR0913 -- each is a word of HTTP
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float = 30.0,
        most: int = LARGEST,
        follow: bool = True,
    ) -> Fetched:
        """Sends an HTTP request through the guarded egress; any status is an answer. `FetchFailed` when none came."""
        ask = StepRequest(
            url=url,
            method=method,
            headers=headers or {},
            body=body,
            timeout=timedelta(seconds=timeout),
            most=most,
            follow=follow,
        )
        return await fetch(self.outside.egress, self.tenant_id, ask)

    async def fetch_page(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        most: int = LARGEST,
        options: FetchOptions = DEFAULT_OPTIONS,
    ) -> Fetched:
        """Fetches a page of the web within its host's limits, which all callers share, as its robots.txt allows."""
        request = FetchRequest(
            url=url,
            tenant_id=self.tenant_id,
            options=options,
            headers=headers or {},
            timeout=timedelta(seconds=timeout),
            most=most,
            source=PageSource("run", self.run_id),
        )
        page = await self.outside.fetcher.fetch(request)
        if isinstance(page, FetchFailure):
            raise FetchFailed(page.words, permanent=page.permanent)
        return Fetched.of(page)

    async def secret(self, name: str) -> str:
        """The value of a secret; it is redacted from the log and result of this run."""
        try:
            found = await self.outside.wallet.named(self.tenant_id, {name})
        except (CannotUnseal, Unavailable):
            raise StepFailed(f"the secret {name!r} cannot be decrypted") from None
        if name not in found:
            self.give_up(f"there is no secret {name!r}: set it with foliot secret set {name}")
        self.hide(found[name])
        return found[name]

    async def reveal(self, value: Confidential) -> str:
        """The literal value, or the value of the referenced secret."""
        return await self.secret(value.secret) if isinstance(value, SecretRef) else value

    async def apart(self, function: Callable[..., Any], body: bytes, **parameters: Any) -> Any:
        """Calls `function(body=…, …)`, a module-level function, in a separate process; it returns JSON.

        For untrusted content that is slow to parse. `Unreadable` when there is no result.
        """
        return await self.outside.apart(function, body, parameters, self.tenant_id)

    async def extract(self, body: bytes, content_type: str, url: str) -> dict[str, Any]:
        """Extracts the article of a page; `missing` says why there is none. `Unreadable` as with `apart`."""
        read = await self.apart(self.outside.article, body, content_type=content_type, url=url)
        return dict(read)

    @property
    def files(self) -> SinkFiles:
        """The directories that pipelines may write to."""
        return self.outside.files

    @property
    def sql(self) -> SinkDatabase:
        """Tables in SQL databases."""
        return self.outside.tables

    @property
    def mongo(self) -> SinkDatabase:
        """Collections in MongoDB."""
        return self.outside.collections


def _shown(item: Item | None) -> str:
    """A short label of an item for the log."""
    if item is None:
        return ""
    known = next((item[name] for name in ("url", "id", "_id", "title", "name") if item.get(name)), None)
    return "" if known is None else f"{str(known)[:200]}: "


__all__ = ["Confidential", "Item", "SecretRef", "StepContext", "StepFailed", "Transform"]


class Transform(DocumentedModel):
    """A step of a chain. Its fields are the `kwargs` in the file; it implements `run`, or `handle` for one item each.

    class Shout(Transform):
        field: str

        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            return {**item, self.field: str(item[self.field]).upper()}
    """

    # Built on first use: most processes never use most of them.
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    aliases: ClassVar[tuple[str, ...]] = ()
    """Additional names for files."""
    sink: ClassVar[bool] = False
    """Whether it writes items elsewhere. Sinks get nothing before the data of the run have met its expectations."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        """Yields the output items one at a time, so that memory stays bounded.

        `items` is pulled from the step before; the first step of a chain gets none. An async generator that is closed
        before its end gets `GeneratorExit` at its `yield`: a `finally` runs in any case, code after the loop only
        when every item was seen.
        """
        async for item in items:
            try:
                made = await self.handle(item, ctx)
            except StepFailed:
                raise
            except Unavailable as away:
                ctx.fail(item, away.told)
            except Exception as error:  # noqa: BLE001 -- whatever one item brings about is about that item
                ctx.fail(item, f"{type(error).__name__}: {error}"[:500])
            else:
                if made is not None:
                    yield made

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        """Maps one item; None drops it, and an exception fails this item only."""
        raise NotImplementedError(f"{type(self).__name__} has neither run nor handle")
