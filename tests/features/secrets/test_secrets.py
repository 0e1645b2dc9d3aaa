"""Named secrets, on each database: set, listed, used, rotated, and encrypted again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from foliot.auth.keyring import Keyring
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, Contended, Forbidden, NotFound, TooMany
from foliot.core.secrets import MOST, OVERLAP, CannotUnseal
from foliot.db.database import Database
from foliot.features.secrets.model import SealedSecret
from foliot.features.secrets.secret_cache import HELD, SecretCache
from foliot.features.secrets.sql import SqlSecrets, secrets
from foliot.features.secrets.usecases import BATCH, Secrets
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.givens import statements

OLD, NEW = "old-" * 8, "new-" * 8
ACME = Caller("acme", "ada", Role.ADMIN)
GLOBEX = Caller("globex", "bob", Role.ADMIN)
KEY_1, KEY_2, KEY_3 = ("whsec_" + 24 * letter for letter in "abc")


def use(store: Database, clock: StoppedClock | None = None, *keys: str) -> Secrets:
    return Secrets(store=store, clock=clock or StoppedClock(), feed=MemoryFeed(), vault=Keyring.of(keys or [NEW]))


def wallet(store: Database, clock: StoppedClock | None = None, *keys: str, **more: Any) -> SecretCache:
    return SecretCache(store=store, clock=clock or StoppedClock(), vault=Keyring.of(keys or [NEW]), **more)


async def rows(store: Database) -> list[Any]:
    async with store.read() as tx:
        query = select(secrets).order_by(secrets.c.tenant_id, secrets.c.name, secrets.c.version)
        return list(await tx.conn.execute(query))


async def values(store: Database, tenant: str, *names: str, keys: Sequence[str] = (NEW,)) -> dict[str, str]:
    return dict(await wallet(store, None, *keys).named(tenant, names))


# --- setting and seeing -----------------------------------------------------------------------------------------------


async def test_a_secret_is_used_and_never_shown(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})

    (seen,) = await use(store).list(ACME)
    assert (seen.name, seen.version, seen.created_by, seen.retired_at) == ("TOKEN", 1, "ada", None)
    assert "one-value" not in repr(seen)
    assert await values(store, "acme", "TOKEN", "OTHER") == {"TOKEN": "one-value"}
    (row,) = await rows(store)
    assert b"one-value" not in bytes(row.sealed)


async def test_a_new_value_is_a_new_version_and_the_one_before_retires(store: Database) -> None:
    clock = StoppedClock()
    for value in ("value-one", "value-two", "value-three"):
        await use(store, clock).put(ACME, "TOKEN", {"value": value})
        clock.advance(60)

    now = clock.now()
    assert [(row.version, row.retired_at) for row in await rows(store)] == [(2, now - timedelta(seconds=60)), (3, None)]
    (seen,) = await use(store).list(ACME)
    assert (seen.version, seen.retired_at) == (3, now - timedelta(seconds=60))
    assert await values(store, "acme", "TOKEN") == {"TOKEN": "value-three"}


async def test_the_same_value_again_changes_nothing(store: Database) -> None:
    for _ in range(3):
        await use(store).put(ACME, "TOKEN", {"value": "one-value"})

    assert [row.version for row in await rows(store)] == [1]


async def test_a_value_that_cannot_be_opened_is_simply_replaced(store: Database) -> None:
    await use(store, None, OLD).put(ACME, "TOKEN", {"value": "one-value"})
    await use(store, None, NEW).put(ACME, "TOKEN", {"value": "one-value"})

    assert await values(store, "acme", "TOKEN") == {"TOKEN": "one-value"}
    assert [row.version for row in await rows(store)] == [1, 2]


async def test_names_are_told_apart_by_every_letter(store: Database) -> None:
    for name in ("token", "TOKEN", "Token", "_token"):
        await use(store).put(ACME, name, {"value": f"value of {name}"})

    assert [seen.name for seen in await use(store).list(ACME)] == ["TOKEN", "Token", "_token", "token"]
    assert await values(store, "acme", "token", "TOKEN") == {"token": "value of token", "TOKEN": "value of TOKEN"}


async def test_a_deleted_secret_is_gone_with_all_its_versions(store: Database) -> None:
    for value in ("value-one", "value-two"):
        await use(store).put(ACME, "TOKEN", {"value": value})
    await use(store).delete(ACME, "TOKEN")

    assert await rows(store) == []
    with pytest.raises(NotFound):
        await use(store).delete(ACME, "TOKEN")


async def test_a_tenant_neither_sees_nor_uses_nor_deletes_anothers(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})

    assert list(await use(store).list(GLOBEX)) == []
    assert await values(store, "globex", "TOKEN") == {}
    with pytest.raises(NotFound):
        await use(store).delete(GLOBEX, "TOKEN")
    await use(store).put(GLOBEX, "TOKEN", {"value": "another-value"})
    assert await values(store, "acme", "TOKEN") == {"TOKEN": "one-value"}


async def test_there_may_be_a_hundred_and_each_can_still_be_replaced(store: Database) -> None:
    for number in range(MOST):
        await use(store).put(ACME, f"S{number}", {"value": "one-value"})

    with pytest.raises(TooMany, match="100 secrets"):
        await use(store).put(ACME, "ONE_MORE", {"value": "one-value"})
    await use(store).put(ACME, "S7", {"value": "another-value"})
    await use(store).put(GLOBEX, "FIRST", {"value": "one-value"})
    assert len(await use(store).list(ACME)) == MOST

    await use(store).delete(ACME, "S7")
    asked = (use(store).put(ACME, f"LAST{number}", {"value": "one-value"}) for number in range(4))
    refused = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(type(one).__name__ for one in refused) == ["NoneType", "TooMany", "TooMany", "TooMany"]


async def test_many_who_set_one_secret_at_once_all_succeed_and_one_value_holds(store: Database) -> None:
    await asyncio.gather(*(use(store).put(ACME, "TOKEN", {"value": f"value-no-{n}"}) for n in range(4)))

    found = await rows(store)
    assert [row.retired_at is None for row in found] == [False, True]
    assert found[-1].version == 4
    assert (await values(store, "acme", "TOKEN"))["TOKEN"] in {f"value-no-{n}" for n in range(4)}


async def test_who_inserts_a_first_version_second_is_told_to_ask_again(store: Database) -> None:
    made = SealedSecret(
        tenant_id="acme",
        name="TOKEN",
        version=1,
        sealed_with="k",
        sealed=b"s",
        created_by="ada",
        created_at=StoppedClock().now(),
    )
    async with store.begin() as tx:
        await SqlSecrets(tx).put(made)
    with pytest.raises(Contended):
        async with store.begin() as tx:
            await SqlSecrets(tx).put(made)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
async def test_only_administrators_change_secrets(store: Database, role: Role) -> None:
    caller = replace(ACME, role=role)

    with pytest.raises(Forbidden):
        await use(store).put(caller, "TOKEN", {"value": "one-value"})
    with pytest.raises(Forbidden):
        await use(store).delete(caller, "TOKEN")
    with pytest.raises(Forbidden):
        await use(store).rekey(ACME)


async def test_changes_are_on_the_trail_without_the_value(store: Database) -> None:
    for value in ("value-one", "value-two"):
        await use(store).put(ACME, "TOKEN", {"value": value})
    await use(store).delete(ACME, "TOKEN")

    async with store.read() as tx:
        found = list(await tx.conn.execute(text("SELECT verb, thing, thing_id, was, became FROM trail ORDER BY id")))
    assert [(row.verb, row.thing, row.thing_id) for row in found] == [
        ("set", "secret", "TOKEN"),
        ("set", "secret", "TOKEN"),
        ("delete", "secret", "TOKEN"),
    ]
    assert "value-" not in str(found)


async def test_without_a_master_key_nothing_is_set_and_the_setting_is_named(store: Database) -> None:
    cases = Secrets(store=store, clock=StoppedClock(), feed=MemoryFeed(), vault=None)

    with pytest.raises(Conflict, match="FOLIOT_SECRET_KEY"):
        await cases.put(ACME, "TOKEN", {"value": "one-value"})
    assert list(await cases.list(ACME)) == []


# --- use --------------------------------------------------------------------------------------------------------------


async def test_two_rows_whose_seals_are_swapped_open_neither(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "acme's value"})
    await use(store).put(GLOBEX, "TOKEN", {"value": "globex's value"})
    (one, other) = await rows(store)
    async with store.begin() as tx:
        for row, sealed in ((one, other.sealed), (other, one.sealed)):
            change = secrets.update().where(secrets.c.tenant_id == row.tenant_id).values(sealed=sealed)
            await tx.conn.execute(change)

    for tenant in ("acme", "globex"):
        with pytest.raises(CannotUnseal):
            await values(store, tenant, "TOKEN")


async def test_one_that_cannot_be_opened_does_not_keep_others_from_use(store: Database) -> None:
    await use(store, None, OLD).put(ACME, "LOST", {"value": "one-value"})
    await use(store, None, NEW).put(ACME, "TOKEN", {"value": "another-value"})

    assert await values(store, "acme", "TOKEN") == {"TOKEN": "another-value"}
    with pytest.raises(CannotUnseal):
        await values(store, "acme", "TOKEN", "LOST")


async def test_the_version_before_signs_for_a_day_beside_the_new_one(store: Database) -> None:
    clock = StoppedClock()
    for key in (KEY_1, KEY_2, KEY_3):
        await use(store, clock).put(ACME, "webhook_signing", {"value": key})
        clock.advance(1)

    assert await wallet(store, clock).signing("acme") == [KEY_3, KEY_2]
    clock.advance(OVERLAP)
    assert await wallet(store, clock).signing("acme") == [KEY_3]


async def test_a_deleted_signing_secret_stops_to_sign_at_once(store: Database) -> None:
    for key in (KEY_1, KEY_2):
        await use(store).put(ACME, "webhook_signing", {"value": key})
    await use(store).delete(ACME, "webhook_signing")
    assert await wallet(store).signing("acme") == []
    await use(store).put(ACME, "webhook_signing", {"value": KEY_3})

    assert await wallet(store).signing("acme") == [KEY_3]


async def test_the_standing_secret_signs_only_for_want_of_another(store: Database) -> None:
    assert await wallet(store, standing=KEY_1).signing("acme") == [KEY_1]
    await use(store, None, NEW).put(ACME, "webhook_signing", {"value": KEY_2})
    assert await wallet(store, standing=KEY_1).signing("acme") == [KEY_2]

    with pytest.raises(CannotUnseal):
        await wallet(store, None, OLD, standing=KEY_1).signing("acme")


async def test_without_a_master_key_what_exists_cannot_be_used(store: Database) -> None:
    await use(store).put(ACME, "webhook_signing", {"value": KEY_1})
    keyless = SecretCache(store=store, clock=StoppedClock(), vault=None)

    with pytest.raises(CannotUnseal):
        await keyless.signing("acme")
    assert await keyless.signing("globex") == []


# --- the wallet -------------------------------------------------------------------------------------------------------


async def test_a_hundred_runs_of_a_tenant_look_once(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})
    held = wallet(store)

    with statements(store) as sent:
        found = await asyncio.gather(*(held.named("acme", ["TOKEN"]) for _ in range(100)))
        await asyncio.gather(*(held.signing("globex") for _ in range(100)))
    assert found == [{"TOKEN": "one-value"}] * 100
    assert len([one for one in sent if "secrets" in one]) == 2


async def test_a_change_is_seen_after_five_seconds(store: Database) -> None:
    clock = StoppedClock()
    held = wallet(store, clock)
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})
    assert await held.named("acme", ["TOKEN"]) == {"TOKEN": "one-value"}
    await use(store).put(ACME, "TOKEN", {"value": "another-value"})
    assert await held.named("acme", ["TOKEN"]) == {"TOKEN": "one-value"}

    clock.advance(HELD + 0.1)
    assert await held.named("acme", ["TOKEN"]) == {"TOKEN": "another-value"}


async def test_a_secret_that_was_missing_is_found_as_soon_as_it_is_set(store: Database) -> None:
    held = wallet(store)
    assert await held.named("acme", ["TOKEN"]) == {}
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})

    assert await held.named("acme", ["TOKEN"]) == {"TOKEN": "one-value"}


async def test_a_hundred_runs_that_miss_a_secret_share_their_looks(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})
    held = wallet(store)
    await held.named("acme", ["TOKEN"])

    with statements(store) as sent:
        found = await asyncio.gather(*(held.named("acme", ["TOKEN", "GONE"]) for _ in range(100)))
    assert found == [{"TOKEN": "one-value"}] * 100
    # One for the first, and one for those who came while that was under way.
    assert len([one for one in sent if "secrets" in one]) <= 2


async def test_the_wallet_forgets_the_tenant_that_asked_longest_ago(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.features.secrets.secret_cache.TENANTS", 2)
    held = wallet(store)
    for tenant in ("acme", "globex", "acme", "initech"):
        await held.signing(tenant)

    assert list(held._held) == ["acme", "initech"]


async def test_one_who_stops_waiting_does_not_take_the_answer_from_the_others(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})
    held = wallet(store)
    first = asyncio.create_task(held.named("acme", ["TOKEN"]))
    second = asyncio.create_task(held.named("acme", ["TOKEN"]))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == {"TOKEN": "one-value"}


async def test_a_store_that_was_away_is_asked_again(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value"})

    class Away:
        down = True

        def glance(self) -> Any:
            if self.down:
                raise ConnectionError("away")
            return store.glance()

    away = Away()
    held = SecretCache(store=away, clock=StoppedClock(), vault=Keyring.of([NEW]))  # type: ignore[arg-type]
    with pytest.raises(ConnectionError):
        await held.named("acme", ["TOKEN"])
    away.down = False
    assert await held.named("acme", ["TOKEN"]) == {"TOKEN": "one-value"}


# --- rotation of the master key ---------------------------------------------------------------------------------------


async def test_rekeying_seals_everything_with_the_newest_key(store: Database) -> None:
    before, during = use(store, None, OLD), use(store, None, NEW, OLD)
    for number in range(BATCH // 2 + 3):
        for caller in (ACME, replace(GLOBEX, tenant_id=f"t{number}")):
            await before.put(caller, f"S{number}", {"value": f"value of {caller.tenant_id}"})
    assert await during.stale(LOCAL) == 2 * (BATCH // 2 + 3)
    seen: list[int] = []
    done = await during.rekey(LOCAL, seen.append)

    assert (done.done, done.shut) == (2 * (BATCH // 2 + 3), [])
    assert seen == [BATCH, done.done]
    assert await during.stale(LOCAL) == 0
    assert await values(store, "acme", "S1") == {"S1": "value of acme"}
    assert await values(store, "t2", "S2") == {"S2": "value of t2"}
    assert (await during.rekey(LOCAL)).done == 0


async def test_rekeying_keeps_both_versions_of_a_rotation(store: Database) -> None:
    clock = StoppedClock()
    for key in (KEY_1, KEY_2):
        await use(store, clock, OLD).put(ACME, "webhook_signing", {"value": key})
    await use(store, clock, NEW, OLD).rekey(LOCAL)

    assert await wallet(store, clock, NEW).signing("acme") == [KEY_2, KEY_1]


async def test_rekeying_drops_what_no_longer_signs(store: Database) -> None:
    clock = StoppedClock()
    for value in ("value-one", "value-two"):
        await use(store, clock, OLD).put(ACME, "TOKEN", {"value": value})
    clock.advance(OVERLAP + timedelta(seconds=1))
    await use(store, clock, NEW, OLD).rekey(LOCAL)

    assert [row.version for row in await rows(store)] == [2]


async def test_rekeying_goes_round_what_it_cannot_open_and_names_it(store: Database) -> None:
    await use(store, None, "lost" * 8).put(ACME, "LOST", {"value": "one-value"})
    await use(store, None, OLD).put(ACME, "TOKEN", {"value": "another-value"})
    done = await use(store, None, NEW, OLD).rekey(LOCAL)

    assert (done.done, done.shut) == (1, ["acme/LOST"])
    assert await values(store, "acme", "TOKEN") == {"TOKEN": "another-value"}


async def test_rekeying_that_was_interrupted_goes_on(store: Database) -> None:
    for number in range(BATCH + 5):
        caller = ACME if number < MOST else GLOBEX
        await use(store, None, OLD).put(caller, f"S{number}", {"value": "one-value"})
    during = use(store, None, NEW, OLD)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await during.rekey(LOCAL, stop)
    assert await during.stale(LOCAL) == 5
    assert (await during.rekey(LOCAL)).done == 5
