"""One host, name or tenant never blocks the others, and no target is flooded through us."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

import pytest

from foliot.core.egress import EgressFailed
from foliot.net.client import HttpEgress
from foliot.net.resolver import PER_TENANT, Lookups
from foliot.net.slots import FairSlots
from tests.net.outside import OK, Server, code_of, get, names, serving

# --- requests to one host ---------------------------------------------------------------------------------------------


class Pause:
    """A server's answer that waits until it is released, and counts who waits."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.now = self.most = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.released.wait()
        writer.write(OK)
        await writer.drain()
        self.now -= 1


async def until(condition: object, *, seconds: float = 5) -> None:
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_host_sees_no_more_than_its_share_at_once_over_all_tenants() -> None:
    pause = Pause()
    async with serving(pause) as slow, serving() as quick, HttpEgress(loopback=True, per_host=3) as egress:
        url = f"http://127.0.0.1:{slow.port}/"
        sending = [asyncio.create_task(egress.send(get(url, tenant_id=f"t{n % 2}"))) for n in range(10)]
        await until(lambda: pause.now == 3)

        # Whoever goes elsewhere, be it another port, does not notice.
        reply = await egress.send(get(f"http://127.0.0.1:{quick.port}/", timeout=timedelta(seconds=1)))
        assert (reply.status, slow.connections) == (200, 3)

        pause.released.set()
        assert [reply.status for reply in await asyncio.gather(*sending)] == [200] * 10
    assert pause.most == 3


async def test_waiting_for_a_turn_counts_against_the_deadline() -> None:
    pause = Pause()
    async with serving(pause) as slow, HttpEgress(loopback=True, per_host=1) as egress:
        url = f"http://127.0.0.1:{slow.port}/"
        first = asyncio.create_task(egress.send(get(url)))
        await until(lambda: pause.now == 1)

        began = asyncio.get_running_loop().time()
        assert await code_of(egress, get(url, timeout=timedelta(seconds=0.2))) == "target_unreachable"
        assert asyncio.get_running_loop().time() - began < 1

        pause.released.set()
        assert (await first).status == 200
        assert (await egress.send(get(url))).status == 200
    assert slow.connections == 2


async def test_spellings_of_a_host_share_its_turns() -> None:
    pause = Pause()
    async with (
        serving(pause) as slow,
        HttpEgress(loopback=True, per_host=1, resolver=names(["127.0.0.1"])) as egress,
    ):
        first = asyncio.create_task(egress.send(get(f"http://Hooks.TEST.:{slow.port}/")))
        await until(lambda: pause.now == 1)
        late = get(f"http://hooks.test:{slow.port}/", timeout=timedelta(seconds=0.1))
        assert await code_of(egress, late) == "target_unreachable"
        pause.released.set()
        await first


async def test_parties_take_turns_at_a_door() -> None:
    turns, order = FairSlots(1), list[str]()

    async def pass_through(party: str) -> None:
        async with turns.turn("door", party):
            order.append(party)

    await turns.enter("door", "first")
    waiting = [asyncio.create_task(pass_through(party)) for party in ("a", "a", "a", "b", "c", "b")]
    await asyncio.sleep(0)
    turns.leave("door")
    await asyncio.gather(*waiting)

    assert order == ["a", "b", "c", "a", "b", "a"]
    assert turns._lines == {}


async def test_who_is_called_and_gives_up_in_the_same_moment_leaves_the_turn_to_the_next() -> None:
    turns = FairSlots(1)
    await turns.enter("door", "first")
    hasty, patient = (asyncio.create_task(turns.enter("door", party)) for party in ("hasty", "patient"))
    await asyncio.sleep(0)

    turns.leave("door")
    hasty.cancel()
    await asyncio.wait_for(patient, 2)

    assert hasty.cancelled()
    turns.leave("door")
    assert turns._lines == {}


async def test_a_turn_is_never_lost_whoever_gives_up_and_when() -> None:
    turns, chance = FairSlots(3), random.Random(7)
    inside = most = 0

    async def pass_through(party: str) -> None:
        nonlocal inside, most
        async with turns.turn("door", party):
            inside += 1
            most = max(most, inside)
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                inside -= 1

    tasks = [asyncio.create_task(pass_through(f"p{n % 5}")) for n in range(500)]
    while not all(task.done() for task in tasks):
        chance.choice(tasks).cancel()
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert {type(result) for result in results} == {type(None), asyncio.CancelledError}
    assert (most, inside, turns._lines) == (3, 0, {})


# --- lookups ----------------------------------------------------------------------------------------------------------


class SlowNames:
    """A blocking resolver that holds every name with `slow` in it until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.began: list[str] = []

    def __call__(self, host: str) -> Sequence[str]:
        self.began.append(host)
        if "slow" in host:
            self.released.wait(20)
        return ["127.0.0.1"]


@pytest.fixture
def slow() -> Iterator[SlowNames]:
    names = SlowNames()
    yield names
    names.released.set()


@asynccontextmanager
async def lookups(slow: SlowNames, **bounds: int) -> AsyncIterator[Lookups]:
    made = Lookups(slow, **bounds)
    yield made
    made.close()


async def test_a_slow_name_holds_one_thread_however_many_wait_for_it(slow: SlowNames) -> None:
    async with lookups(slow, threads=4, per_tenant=2) as made:
        waiting = [asyncio.create_task(made.addresses("slow.test", "acme")) for _ in range(50)]
        await until(lambda: slow.began == ["slow.test"])

        assert await asyncio.wait_for(made.addresses("quick.test", "acme"), 2) == ["127.0.0.1"]
        assert slow.began == ["slow.test", "quick.test"]

        slow.released.set()
        assert await asyncio.gather(*waiting) == [["127.0.0.1"]] * 50
    assert made._running == {}
    assert made._turns._lines == {}


async def test_who_asks_for_a_name_under_way_needs_no_turn_for_it(slow: SlowNames) -> None:
    async with lookups(slow, threads=4, per_tenant=1) as made:
        waiting = [asyncio.create_task(made.addresses("slow.test", "acme")) for _ in range(3)]
        await until(lambda: slow.began == ["slow.test"])
        waiting += [asyncio.create_task(made.addresses("slow.test", "acme")) for _ in range(3)]
        await asyncio.sleep(0)

        slow.released.set()
        await asyncio.gather(*waiting)
    assert slow.began == ["slow.test"]


async def test_a_tenant_with_many_slow_names_stalls_only_itself(slow: SlowNames) -> None:
    async with lookups(slow, threads=4, per_tenant=2) as made:
        waiting = [asyncio.create_task(made.addresses(f"slow{n}.test", "greedy")) for n in range(40)]
        await until(lambda: len(slow.began) == 2)

        for n in range(10):
            assert await asyncio.wait_for(made.addresses(f"quick{n}.test", "acme"), 2) == ["127.0.0.1"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(made.addresses("quick.test", "greedy"), 0.1)

        slow.released.set()
        await asyncio.gather(*waiting)


async def test_a_lookup_that_nobody_waits_for_any_more_still_counts_for_its_tenant(slow: SlowNames) -> None:
    async with lookups(slow, threads=8, per_tenant=2) as made:
        for n in range(6):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(made.addresses(f"slow{n}.test", "greedy"), 0.05)
        assert slow.began == ["slow0.test", "slow1.test"]

        slow.released.set()
        assert await asyncio.wait_for(made.addresses("quick.test", "greedy"), 2) == ["127.0.0.1"]


async def test_a_new_request_asks_anew_when_the_last_answer_has_come(slow: SlowNames) -> None:
    async with lookups(slow) as made:
        for _ in range(3):
            await made.addresses("quick.test", "acme")
    assert slow.began == ["quick.test"] * 3


async def test_an_egress_asks_the_resolver_in_the_tenants_name(
    slow: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.net.resolver.addresses_of", slow)
    async with serving() as target, HttpEgress(loopback=True) as egress:
        stuck = [
            asyncio.create_task(egress.send(get(f"http://slow{n}.test:{target.port}/", tenant_id="greedy")))
            for n in range(80)
        ]
        await until(lambda: len(slow.began) == PER_TENANT)
        request = get(f"http://quick.test:{target.port}/", tenant_id="acme", timeout=timedelta(seconds=2))
        assert (await egress.send(request)).status == 200
        assert len(slow.began) == PER_TENANT + 1
        slow.released.set()
        assert {reply.status for reply in await asyncio.gather(*stuck)} == {200}


# --- what a stranger can tell apart -----------------------------------------------------------------------------------


@contextmanager
def filtered() -> Iterator[int]:
    """A port whose backlog is full: like behind a firewall that drops, a new connection is never answered."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        yield full.getsockname()[1]
        for caller in callers:
            caller.close()


async def closed() -> Server:
    async with serving() as gone:
        return gone


async def unknown(host: str) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


async def test_closed_filtered_refused_and_unknown_read_the_same() -> None:
    gone = await closed()
    told = set()
    with filtered() as silent:
        for port, resolver in (
            (gone.port, names(["127.0.0.1"])),
            (silent, names(["127.0.0.1"])),
            (gone.port, names(["10.0.0.1"])),
            (gone.port, names(["127.0.0.1", "10.0.0.1"])),
            (gone.port, names(["nonsense"])),
            (gone.port, names([])),
            (gone.port, unknown),
        ):
            async with HttpEgress(allow="127.0.0.0/8", ports=[port], resolver=resolver) as egress:
                with pytest.raises(EgressFailed) as caught:
                    await egress.send(get(f"http://hooks.test:{port}/", timeout=timedelta(seconds=0.4)))
            told.add((type(caught.value), caught.value.code, str(caught.value), caught.value.__cause__))
            assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert [(code, text) for _, code, text, _ in told] == [("target_unreachable", "The target could not be reached.")]


async def test_nobody_learns_from_a_quick_refusal_why_it_was_refused() -> None:
    gone = await closed()
    loop = asyncio.get_running_loop()
    for resolver in (names(["127.0.0.1"]), names(["10.0.0.1"]), unknown):
        async with HttpEgress(allow="127.0.0.0/8", ports=[gone.port], resolver=resolver) as egress:
            began = loop.time()
            assert await code_of(egress, get(f"http://hooks.test:{gone.port}/")) == "target_unreachable"
            assert loop.time() - began >= 0.25


async def test_the_wait_before_a_refusal_is_told_ends_with_the_deadline() -> None:
    loop, took = asyncio.get_running_loop(), list[float]()
    async with HttpEgress(resolver=unknown) as egress:
        for _ in range(5):
            began = loop.time()
            assert (
                await code_of(egress, get("http://hooks.test/", timeout=timedelta(seconds=0.05)))
                == "target_unreachable"
            )
            took.append(loop.time() - began)
    assert 0.05 <= min(took) < 0.2


# --- connections that are never made ----------------------------------------------------------------------------------


@contextmanager
def full(*addresses: str) -> Iterator[int]:
    """A port at which nobody accepts, at each of these addresses: whoever connects waits."""
    held: list[socket.socket] = []
    port = 0
    try:
        for address in addresses:
            listener = socket.create_server((address, port), backlog=0)
            held.append(listener)
            port = listener.getsockname()[1]
            for _ in range(3):
                waiting = socket.socket()
                waiting.setblocking(False)
                waiting.connect_ex((address, port))
                held.append(waiting)
        yield port
    finally:
        for one in held:
            one.close()


async def test_connecting_takes_no_longer_than_it_may_however_many_addresses_there_are() -> None:
    places = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]
    loop = asyncio.get_running_loop()
    with full(*places) as port:
        async with HttpEgress(loopback=True, resolver=names(places), connect=timedelta(seconds=1)) as egress:
            began = loop.time()
            code = await code_of(egress, get(f"http://full.test:{port}/", timeout=timedelta(seconds=60)))
            took = loop.time() - began

    assert code == "target_unreachable"
    assert 0.9 < took < 8


async def test_a_name_that_is_looked_up_for_ever_is_given_up_after_as_long() -> None:
    async def never(host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with HttpEgress(loopback=True, resolver=never, connect=timedelta(seconds=0.2)) as egress:
        async with asyncio.timeout(20):
            code = await code_of(egress, get("http://slow.test/", timeout=timedelta(seconds=60)))

    assert code == "target_unreachable"


async def test_an_answer_may_take_longer_than_connecting() -> None:
    pause = Pause()
    async with serving(pause) as server, HttpEgress(loopback=True, connect=timedelta(seconds=0.2)) as egress:
        asyncio.get_running_loop().call_later(0.6, pause.released.set)
        reply = await egress.send(get(f"http://127.0.0.1:{server.port}/", timeout=timedelta(seconds=60)))

    assert reply.status == 200
