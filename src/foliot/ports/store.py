"""What is asked of the store, in domain words; one facet for each kind of asker."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Protocol

from foliot.domain.event import Event, Line
from foliot.domain.ledger import Entry, Span
from foliot.domain.node import Wish
from foliot.domain.run import Fence, Origin, RunState
from foliot.domain.schedule import Schedule, Spec
from foliot.domain.settle import Due, OpenRun, Plan
from foliot.domain.trail import TrailEntry
from foliot.ports.articles import Articles
from foliot.ports.book import Pipelines
from foliot.ports.broker import Offers
from foliot.ports.bulks import Bulks
from foliot.ports.crawls import Crawls
from foliot.ports.endpoints import Endpoints
from foliot.ports.history import History
from foliot.ports.keys import Keys
from foliot.ports.logs import Logs
from foliot.ports.mutes import Mutes
from foliot.ports.parked import Parkings
from foliot.ports.past import Past
from foliot.ports.prices import Prices
from foliot.ports.queues import Queues
from foliot.ports.searching import Searching
from foliot.ports.secrets import Secrets
from foliot.ports.tasks import Declarations
from foliot.ports.tenants import Tenants
from foliot.ports.trail import Trail
from foliot.ports.troubles import Troubles
from foliot.ports.views import (
    Admit,
    Answer,
    AttemptView,
    Claimed,
    DeadGroup,
    Ending,
    Finished,
    Page,
    Recorded,
    Rewound,
    RunRequest,
    RunView,
)


class Firing(Protocol):
    """Due schedules become runs."""

    async def lock_due(
        self, now: datetime, limit: int, *, own_clock: bool = False
    ) -> tuple[list[Due], datetime | None]:
        """What is due, locked, and when the first that is not due yet will be; None also when nothing is due.

        The database's clock has the last word, unless the caller says that its own does.
        """
        ...

    async def lock_one(self, schedule_id: str) -> Due | None:
        """The same lock on one schedule, due or not, for those who change it; None when it has no cursor."""
        ...

    async def open_runs(self, schedule_ids: Sequence[str]) -> dict[str, list[OpenRun]]: ...

    async def record(self, plans: Sequence[Plan], now: datetime) -> Recorded: ...

    async def next_due(self) -> datetime | None: ...


class Claims(Protocol):
    """Runs pass from hand to hand, one attempt at a time."""

    async def ready(self, now: datetime, queues: Collection[str] | None, limit: int) -> list[str]:
        """Ids that could be claimed, most urgent first, each tenant its share."""
        ...

    async def claim(
        self,
        run_ids: Sequence[str],
        worker: str,
        lease: timedelta,
        now: datetime,
        token: str | None = None,
        admit: Admit | None = None,
    ) -> list[Claimed]:
        """Take those that nobody else took first. Whoever brings a `token` can ask later what it took.

        What `admit` turns away is not claimed: it waits until then, which is no attempt, and its row says why.
        """
        ...

    async def held(self, run_ids: Sequence[str], token: str) -> list[Claimed]:
        """Which of these are in the hands of this token, for whom the acknowledgement of a claim was lost."""
        ...

    async def extend(self, fences: Sequence[Fence], lease: timedelta, now: datetime) -> set[str]:
        """Renew leases; answers the ids that are still ours."""
        ...

    async def cancels(self, run_ids: Sequence[str]) -> set[str]: ...

    async def finish(self, endings: Sequence[Ending], now: datetime) -> Finished: ...

    async def lock_expired(self, now: datetime, limit: int, longest: timedelta | None = None) -> list[Claimed]:
        """Runs whose lease ran out, by our clock and the database's, locked, as their last holder had them.

        A lease that ends later than `longest` from now was given before a clock went back, and counts as run out.
        """
        ...

    async def release(self, now: datetime, schedule_ids: Sequence[str] | None = None, limit: int = 1000) -> int:
        """Let buffered runs go whose predecessor has ended."""
        ...


class Schedules(Protocol):
    """Schedules, their versions and spans."""

    async def add(self, schedule: Schedule) -> None: ...

    async def get(self, tenant_id: str, schedule_id: str, *, lock: bool = False) -> Schedule | None: ...

    async def free(self, tenant_id: str, schedule_ids: Collection[str]) -> dict[str, Schedule]:
        """Those of these that nobody holds, by id and locked; of the others nothing is said."""
        ...

    async def find(self, tenant_id: str, page: Page, **filters: str | None) -> list[Schedule]:
        """`filters`: status, type, kind, tag, q."""
        ...

    async def save(self, schedule: Schedule, *, new_version: bool) -> None: ...

    async def turn_span(self, schedule: Schedule, now: datetime, *, active: bool, reason: str = "") -> None:
        """Close the open span at `now` and open the next one."""
        ...

    async def end_span(self, schedule_id: str, now: datetime) -> None: ...

    async def rewind(self, schedule: Schedule, now: datetime, cut: Sequence[Entry]) -> Rewound:
        """Undo what lies beyond `now`, and set the cursor where this schedule, which is locked, has it.

        `cut`: the ledger's entries across `now`, as they end there. Runs that were made too early stay.
        """
        ...

    async def ahead(self, soon: datetime, limit: int, tenant_id: str | None = None) -> Sequence[tuple[str, str, str]]:
        """(tenant, id, name) of those that have settled instants later than this moment, which has not come."""
        ...

    async def spans(self, schedule_id: str) -> list[Span]: ...

    async def actions(
        self, tenant_id: str, of: Collection[tuple[str, int]]
    ) -> Mapping[tuple[str, int], Mapping[str, Any]]:
        """What these versions, (schedule's id, number), do; one that is gone or cannot be read is left out."""
        ...

    async def specs(self, schedule_id: str) -> dict[int, Spec | str]:
        """Every version; a damaged one is its error."""
        ...

    async def ledger(self, schedule_id: str, start: datetime, end: datetime) -> list[tuple[int, Entry]]:
        """Entries (with their version) that touch [start, end), oldest first."""
        ...

    async def instants(
        self, schedule_id: str, start: datetime, end: datetime, limit: int
    ) -> list[tuple[datetime, str, RunState]]:
        """Runs made from instants of [start, end), oldest first: (instant, run id, state)."""
        ...

    async def fills(
        self, schedule_id: str, start: datetime, end: datetime
    ) -> list[tuple[datetime, str, RunState, Origin]]:
        """Runs that make up for instants of [start, end): (instant, run id, state, origin)."""
        ...

    async def ids(self, after: str, limit: int, tenant_id: str | None = None) -> list[tuple[str, str]]:
        """(tenant, id) of every schedule, deleted ones too, in order of id."""
        ...

    async def faults(self, limit: int) -> list[tuple[str, str]]: ...


class Runs(Protocol):
    """Runs, as people ask for them."""

    async def add(self, requests: Sequence[RunRequest], now: datetime, told: Sequence[TrailEntry] = ()) -> None:
        """New runs, and what the trail says of them; by one statement where the database can."""
        ...

    async def get(self, tenant_id: str, run_id: str, *, lock: bool = False) -> RunView | None: ...

    async def find(self, tenant_id: str, page: Page, **filters: str | None) -> list[RunView]:
        """`filters`: status (or several, comma-separated), schedule_id, kind, queue."""
        ...

    async def several(self, tenant_id: str, run_ids: Sequence[str], *, lock: bool = False) -> list[RunView]:
        """Those there are, in the order asked for."""
        ...

    async def attempts(self, run_ids: Sequence[str], *, whole: bool) -> Mapping[str, Sequence[AttemptView]]:
        """The ended attempts of each run, oldest first; large responses only if they are wanted whole."""
        ...

    async def cancel(self, run_ids: Sequence[str], now: datetime, reason: str, *, at_once: bool = False) -> int:
        """Queued and retrying runs are cancelled now; running ones are asked to stop, or, `at_once`, cut off from
        their attempt. Returns how many were open."""
        ...

    async def open_ids(self, schedule_id: str, *, waiting_only: bool) -> list[str]: ...

    async def last_instant(self, schedule_id: str) -> datetime | None:
        """The newest instant of the schedule that has a run; runs that were asked for have none."""
        ...

    async def neighbours(self, tenant_id: str, schedule_id: str, run_id: str) -> tuple[str | None, str | None]:
        """The runs of a schedule that were made right before and right after this one."""
        ...

    async def dead_groups(self, tenant_id: str, page: Page, **filters: str | None) -> list[DeadGroup]: ...

    async def dead_ids(self, tenant_id: str, limit: int, **filters: str | None) -> list[str]: ...

    async def replays(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """How often each letter was sent again; those that never were are left out."""
        ...

    async def resolve(self, run_ids: Sequence[str], by: str) -> None:
        """These letters have their answer."""
        ...

    async def events(self, run_id: str, after: int, limit: int) -> list[Event]: ...

    async def append(self, entries: Sequence[tuple[Fence, Sequence[Line]]]) -> set[str]:
        """Add lines to running attempts; answers the ids whose fence still held."""
        ...


class Requests(Protocol):
    """Idempotency keys and what was answered."""

    async def begin(self, tenant_id: str, key: str, fingerprint: str, now: datetime) -> Answer | None:
        """Reserve the key inside this transaction; the earlier answer when there is one."""
        ...

    async def answer(
        self, tenant_id: str, key: str, status: int, body: str | None, headers: Mapping[str, str] | None = None
    ) -> None: ...


class Upkeep(Protocol):
    """What keeps the house in order, and what it can say about itself."""

    async def prune(
        self, before: datetime, limit: int, after: str = "", tenant_id: str | None = None
    ) -> tuple[int, str | None]:
        """Look at so many runs after this id, created before this moment, and delete those that may go.

        The ledger remembers their instants. Open runs and dead letters without an answer stay. Says how many went,
        and where to go on; None at the end.
        """
        ...

    async def prune_requests(self, before: datetime, limit: int) -> int: ...

    async def thin_versions(self, after: str, limit: int) -> tuple[int, str | None]:
        """Delete versions of so many schedules after this id that no instant, run or span refers to; the newest stay.

        Says how many went, and where to go on; None at the end.
        """
        ...

    async def recount(self, after: str, limit: int) -> str | None:
        """Count anew what so many tenants after this one have stored. Where to go on; None at the end."""
        ...

    async def report(
        self, node_id: str, role: str, started_at: datetime, now: datetime, report: Mapping[str, Any]
    ) -> Wish | None:
        """A process says how it is, and hears what an operator asked of it."""
        ...

    async def wish(self, node_id: str, wish: Wish) -> None: ...

    async def leave(self, node_id: str) -> None:
        """Forget a node; what it counted is kept."""
        ...

    async def forget_nodes(self, before: datetime) -> int: ...

    async def nodes(self, since: datetime | None = None) -> list[Mapping[str, Any]]: ...

    async def gone(self) -> Mapping[str, Any]:
        """What forgotten nodes have counted, as one report; with it `runs`, the ended ones that are kept, by state."""
        ...

    async def queues(self, tenant_id: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """How many runs wait in each queue, and since when the oldest does; read through an index."""
        ...

    async def parked(self, tenant_id: str | None = None) -> Mapping[str, Any]:
        """`count` of the runs whose effect goes on elsewhere, and `oldest`: when the next look at one is due."""
        ...

    async def counts(self, tenant_id: str | None = None) -> Mapping[str, Any]:
        """Schedules by status, open runs by state, queues with depth and the oldest waiting moment, and parked runs."""
        ...

    async def time(self) -> datetime:
        """What the database's clock says."""
        ...

    async def probe(self) -> None:
        """A write that changes nothing: whether the database would take one."""
        ...


class Transaction(Protocol):
    """All of it happens, or nothing."""

    @property
    def firing(self) -> Firing: ...
    @property
    def claims(self) -> Claims: ...
    @property
    def offers(self) -> Offers: ...
    @property
    def parked(self) -> Parkings: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def requests(self) -> Requests: ...
    @property
    def upkeep(self) -> Upkeep: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def secrets(self) -> Secrets: ...
    @property
    def trail(self) -> Trail: ...
    @property
    def tenants(self) -> Tenants: ...
    @property
    def queues(self) -> Queues: ...
    @property
    def endpoints(self) -> Endpoints: ...
    @property
    def crawls(self) -> Crawls: ...
    @property
    def articles(self) -> Articles: ...
    @property
    def prices(self) -> Prices: ...
    @property
    def declarations(self) -> Declarations: ...
    @property
    def pipelines(self) -> Pipelines: ...
    @property
    def searching(self) -> Searching: ...
    @property
    def logs(self) -> Logs: ...
    @property
    def bulks(self) -> Bulks: ...
    @property
    def mutes(self) -> Mutes: ...
    @property
    def history(self) -> History: ...
    @property
    def troubles(self) -> Troubles: ...
    @property
    def past(self) -> Past: ...


class Store(Protocol):
    """The one truth.

    Whoever asks for one tenant says so: where the database can, it then shows and takes that tenant's rows alone, even
    to a statement that forgot to ask for them. The engine, which works for all, names none.
    """

    def begin(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that writes. Raises `Unavailable` when the database is away."""
        ...

    def glance(self) -> AbstractAsyncContextManager[Transaction]:
        """A quick look, for those who decide nothing by it: each statement sees its own moment."""
        ...

    def read(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Transaction]:
        """A consistent look: everything read through it stands at one moment."""
        ...
