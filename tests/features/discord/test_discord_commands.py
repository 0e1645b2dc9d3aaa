"""The Discord bot, through a stand-in that speaks Discord's protocol: what members see, and what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import foliot
from foliot.app import build
from foliot.app.build import App
from foliot.cli.check.connections import check_discord
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.features.discord import answer, connection, run_messages
from foliot.features.discord.connection import Bot
from foliot.features.health.usecases import HealthChecks
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from tests.discord_server import (
    AUTOCOMPLETE,
    CHANNEL,
    GUILD,
    MEMBER,
    NOBODIES,
    OPERATORS,
    TOKEN,
    VIEWERS,
    DiscordServer,
    a_discord,
    api_of,
)

NEVER = {"type": "oneoff", "run_at": "2040-01-01T09:00:00Z"}


@dataclass
class House:
    """A Foliot with a Discord door, and the Discord behind it."""

    app: App
    discord: DiscordServer

    async def job(self, name: str = "nightly", **fields: Any) -> Schedule:
        action = {"kind": "webhook", "url": "http://127.0.0.1:9/"}
        return await self.app.usecases[Schedules].create(LOCAL, {"name": name, **NEVER, "action": action, **fields})

    async def jobs(self) -> list[Schedule]:
        return list(await self.app.usecases[Schedules].list(LOCAL, PageRequest(50)))


def settings(discord: DiscordServer, home: Path, **environ: str) -> Settings:
    return Settings.load(
        {
            "FOLIOT_HOME": str(home),
            "DISCORD_TOKEN": TOKEN,
            "FOLIOT_DISCORD_API": api_of(discord),
            "FOLIOT_DISCORD_ROLES": f"{OPERATORS}=operator,{VIEWERS}=viewer",
            **environ,
        }
    )


PIPELINES = """
pipelines:
  news:
    schedule: {{interval: {{hours: 6}}}}
    chain:
      - class: HttpFetcher
        kwargs: {{urls: ["{page}"]}}
      - class: core.infra.discord_sink.DiscordSink
        kwargs: {{channel_id: {channel}, template: "{{body}}"}}
  prices:
    schedule: {{cron: "0 2 * * *"}}
    chain:
      - class: HttpFetcher
        kwargs: {{urls: ["{page}"]}}
"""


MADE: list[bytes] = []
"""A database with all its tables, once there is one: a copy costs less than every revision again."""


async def migrated(chosen: Settings) -> None:
    file = chosen.sqlite_path
    assert file is not None
    if MADE:
        file.write_bytes(MADE[0])
    else:
        await build.migrate(chosen)
        MADE.append(file.read_bytes())


@asynccontextmanager
async def a_house(tmp_path: Path, discord: DiscordServer, **environ: str) -> AsyncIterator[House]:
    chosen = settings(discord, tmp_path, **environ)
    await migrated(chosen)
    app = build.build(chosen, http=False, engine=True, discord=True)
    try:
        await app.start()
        yield House(app, discord)
    finally:
        await app.stop(1)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have other things to do; what is about being late says so itself."""
    assert 0 < answer.PATIENCE < connection.TYPING < 3
    monkeypatch.setattr(answer, "PATIENCE", 20.0)
    monkeypatch.setattr(connection, "TYPING", 20.0)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_discord() as discord, a_house(tmp_path, discord) as made:
        await discord.until(lambda: discord.got["identify"])
        yield made


@pytest.fixture
async def piped(tmp_path: Path) -> AsyncIterator[House]:
    """With two pipelines; one of them writes into a channel."""
    async with a_discord() as discord:
        file = tmp_path / "pipelines.yml"
        file.write_text(PIPELINES.format(page=f"{discord.url}/page", channel=CHANNEL))
        async with a_house(tmp_path, discord, PIPELINES_CONFIG=str(file)) as made:
            await discord.until(lambda: discord.got["identify"])
            for _ in range(500):
                if len(await made.jobs()) == 2:
                    break
                await asyncio.sleep(0.02)
            yield made


async def test_jobs_are_listed_to_whoever_asked(house: House) -> None:
    assert "no scheduled jobs" in (await house.discord.ask(house.discord.command("jobs"))).data["content"]
    made = await house.job("@everyone `nightly`", type="cron", cron_expr="0 9 * * 1-5", run_at=None)

    told = await house.discord.ask(house.discord.command("jobs"))

    assert told.private
    assert told.data["allowed_mentions"]["parse"] == []
    assert "`@everyone 'nightly'` At 09:00 on Monday through Friday" in told.data["content"]
    assert f"`{made.id}`" in told.data["content"]


async def test_a_job_is_removed(house: House) -> None:
    made = await house.job()

    told = await house.discord.ask(house.discord.command("remove", job_id=made.id))
    again = await house.discord.ask(house.discord.command("remove", job_id=made.id))

    assert told.data["content"] == f"✓ Removed `nightly` · `{made.id}`. It will not run again."
    assert await house.jobs() == []
    assert again.data["content"].startswith("✕ job sch")
    assert again.private


async def test_typing_offers_jobs(house: House) -> None:
    made = await house.job("prices")
    await house.job("news")
    typed = house.discord.command("remove", AUTOCOMPLETE, focused="job_id", job_id="PRI")

    told = await house.discord.ask(typed)

    assert told.body["data"]["choices"] == [{"name": f"prices ({made.id[-8:]})", "value": made.id}]


async def test_whoever_has_no_role_in_the_map_is_refused_and_told_which_they_have(house: House) -> None:
    made = await house.job()
    for event in (
        house.discord.command("remove", job_id=made.id, about={"roles": [NOBODIES]}),
        house.discord.command("jobs", about={"roles": []}),
        house.discord.command("status", about={"roles": [NOBODIES]}),
    ):
        told = await house.discord.ask(event)

        assert told.private
        assert "none of your roles may use Foliot here" in told.data["content"]
        assert made.id not in told.data["content"]
    assert [one.id for one in await house.jobs()] == [made.id]


async def test_private_messages_and_viewers_change_nothing(house: House) -> None:
    made = await house.job()

    private = await house.discord.ask(house.discord.command("remove", job_id=made.id, about={"guild_id": None}))
    viewer = await house.discord.ask(house.discord.command("remove", job_id=made.id, about={"roles": [VIEWERS]}))
    looks = await house.discord.ask(house.discord.command("jobs", about={"roles": [VIEWERS]}))

    assert "in a server only" in private.data["content"]
    assert "role viewer may not write a schedule" in viewer.data["content"]
    assert viewer.private
    assert made.id in looks.data["content"]
    assert [one.id for one in await house.jobs()] == [made.id]


async def test_a_stranger_is_offered_nothing_while_they_type(house: House) -> None:
    await house.job("prices")
    typed = house.discord.command("remove", AUTOCOMPLETE, focused="job_id", job_id="", about={"roles": [NOBODIES]})

    assert (await house.discord.ask(typed)).body["data"]["choices"] == []


async def test_a_cut_connection_is_resumed_and_nothing_is_lost_or_done_twice(house: House) -> None:
    jobs = [await house.job(f"job-{number}") for number in range(3)]
    events = [house.discord.command("remove", job_id=one.id) for one in jobs]
    await house.discord.ask(events[0])

    await house.discord.cut()
    # Sent while nobody listens: it comes with the resume.
    await house.discord.fire(events[1])
    told = await house.discord.answer(events[1])
    assert house.discord.got["resume"] == 1
    await house.discord.ask(events[2])

    assert told.data["content"].startswith("✓ Removed `job-1`")
    assert house.discord.got["identify"] == 1
    assert await house.jobs() == []
    assert [len(house.discord.of(event, "/callback")) for event in events] == [1, 1, 1]


async def test_a_session_that_is_gone_is_begun_anew(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bot, "before_identify_hook", _at_once)
    house.discord.refuse_resume = True
    await house.discord.cut()
    await house.discord.until(lambda: house.discord.got["identify"] == 2)

    told = await house.discord.ask(house.discord.command("jobs"))

    assert house.discord.got["invalid"] == 1
    assert "no scheduled jobs" in told.data["content"]


async def test_commands_are_registered_for_servers_only(house: House) -> None:
    names = {command["name"]: command for command in house.discord.commands}

    assert set(names) == {"run", "schedule", "jobs", "remove", "pipelines", "status"}
    assert [option["name"] for option in names["schedule"]["options"]] == ["pipeline", "cron", "timezone"]
    assert [option.get("required") for option in names["schedule"]["options"]] == [True, True, False]
    assert all(command["contexts"] == [0] or command["dm_permission"] is False for command in names.values())


async def test_commands_of_one_server_count_there_alone(tmp_path: Path) -> None:
    async with a_discord() as discord, a_house(tmp_path, discord, FOLIOT_DISCORD_GUILD=str(GUILD)):
        await discord.until(lambda: discord.got["identify"])

        here = await discord.ask(discord.command("jobs"))
        elsewhere = await discord.ask(discord.command("jobs", about={"guild_id": "7"}))

    assert discord.guild == GUILD
    assert "no scheduled jobs" in here.data["content"]
    assert "does not take commands from this server" in elsewhere.data["content"]


async def test_an_answer_that_takes_long_is_promised_within_the_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "PATIENCE", 0.0)
    event = house.discord.command("jobs")

    promised = await house.discord.ask(event)
    [told] = await house.discord.until(lambda: house.discord.of(event, "@original"))

    assert (promised.body["type"], promised.private) == (5, True)
    assert "no scheduled jobs" in told.data["content"]


async def _at_once(*_: object, **__: object) -> None:
    """The library keeps Discord's five seconds between two sessions; this one has all the time."""


# --- pipelines ---


async def test_pipelines_are_listed_with_when_they_run(piped: House) -> None:
    told = await piped.discord.ask(piped.discord.command("pipelines"))

    assert told.private
    assert told.data["content"].splitlines()[0] == "**2 pipelines**"
    assert "- `news` Every 6 hours" in told.data["content"]
    assert "- `prices` At 02:00" in told.data["content"]


async def test_a_run_is_answered_at_once_and_its_message_follows_it_to_the_end(piped: House) -> None:
    event = piped.discord.command("run", pipeline="news")

    told = await piped.discord.ask(event)
    last = await piped.discord.until(
        lambda: [one for one in piped.discord.of(event, "@original") if "✓" in str(one.body)]
    )

    assert not told.private
    assert "`news`" in told.data["content"]
    [run] = await piped.app.usecases[Runs].list(LOCAL, PageRequest(10), kind="pipeline")
    assert run.id in told.data["content"]
    assert last[-1].data["content"].splitlines()[0].startswith("✓ `news` succeeded in ")
    assert "1 items" in last[-1].data["content"]
    assert "`HttpFetcher` 0 → 1" in last[-1].data["content"]
    assert last[-1].data["allowed_mentions"] == {"parse": []}
    [message] = [one.body for one in piped.discord.sent if one.path.endswith(f"/channels/{CHANNEL}/messages")]
    assert message["content"] == "hello"


async def test_the_same_interaction_twice_has_one_effect(piped: House) -> None:
    event = piped.discord.command("run", pipeline="news")

    await piped.discord.fire(event, times=3)
    await piped.discord.until(lambda: len(piped.discord.of(event, "/callback")) == 3)

    assert len(await piped.app.usecases[Runs].list(LOCAL, PageRequest(10), kind="pipeline")) == 1


async def test_two_processes_with_one_token_run_it_once(piped: House) -> None:
    """Discord tells every connection of a bot."""
    other = build.build(piped.app.settings, http=False, engine=False, discord=True)
    await other.start()
    try:
        await piped.discord.until(lambda: piped.discord.got["identify"] == 2)
        event = piped.discord.command("run", pipeline="news")
        await piped.discord.fire_everywhere(event)
        await piped.discord.until(lambda: len(piped.discord.of(event, "/callback")) == 2)
    finally:
        await other.stop(1)

    assert len(await piped.app.usecases[Runs].list(LOCAL, PageRequest(10), kind="pipeline")) == 1


async def test_a_schedule_is_shown_first_and_saved_on_demand(piped: House) -> None:
    before = len(await piped.jobs())
    event = piped.discord.command("schedule", pipeline="news", cron="0 9 * * 1-5", timezone="Europe/Stockholm")

    shown = await piped.discord.ask(event)

    assert shown.private
    [embed] = shown.data["embeds"]
    fields = {field["name"]: field["value"] for field in embed["fields"]}
    assert (fields["Pipeline"], fields["Cron"], fields["Time zone"]) == (
        "`news`",
        "`0 9 * * 1-5`",
        "`Europe/Stockholm`",
    )
    assert fields["Next 5 times"].count("09:00") == 5
    assert "Scheduled already" in fields
    assert len(await piped.jobs()) == before

    pressed = [piped.discord.press(shown.data, "Save") for _ in range(2)]
    saved = await piped.discord.ask(pressed[0])
    await piped.discord.ask(pressed[1])

    [made] = [one for one in await piped.jobs() if one.description == "Created in Discord."]
    assert saved.body["type"] == 7
    assert saved.data["content"].startswith("✓ Saved.")
    assert made.id in saved.data["content"]
    assert (saved.data["embeds"], saved.data["components"]) == ([], [])
    assert made.user_id == f"discord:{MEMBER}"
    assert made.spec.trigger.summary == "At 09:00 on Monday through Friday (Europe/Stockholm)"
    assert made.action == {"pipeline": "news"}


async def test_a_cancelled_preview_saves_nothing(piped: House) -> None:
    before = len(await piped.jobs())
    shown = await piped.discord.ask(piped.discord.command("schedule", pipeline="news", cron="0 9 * * *"))

    told = await piped.discord.ask(piped.discord.press(shown.data, "Cancel"))

    assert told.data["content"] == "Nothing was saved."
    assert len(await piped.jobs()) == before


async def test_a_button_is_no_way_around_the_roles(piped: House) -> None:
    before = len(await piped.jobs())
    shown = await piped.discord.ask(piped.discord.command("schedule", pipeline="news", cron="0 9 * * *"))

    viewer = await piped.discord.ask(piped.discord.press(shown.data, "Save", roles=[VIEWERS]))
    nobody = await piped.discord.ask(piped.discord.press(shown.data, "Save", roles=[NOBODIES]))

    assert "may not write" in viewer.data["content"]
    assert "none of your roles" in nobody.data["content"]
    assert viewer.private
    assert len(await piped.jobs()) == before


async def test_a_wrong_expression_is_explained_and_the_right_one_offered(piped: House) -> None:
    event = piped.discord.command("schedule", pipeline="news", cron="61 2 * * *")

    told = await piped.discord.ask(event)

    assert told.private
    assert told.data["content"].startswith("✕ minute: '61' is not within 0-59. Did you mean `1 2 * * *` – At 02:01")
    shown = await piped.discord.ask(piped.discord.press(told.data, "Use it"))
    assert shown.data["embeds"][0]["fields"][1]["value"] == "`1 2 * * *`"
    saved = await piped.discord.ask(piped.discord.press(shown.data, "Save"))
    assert saved.data["content"].startswith("✓ Saved.")


async def test_a_name_that_is_nearly_right_is_offered(piped: House) -> None:
    event = piped.discord.command("run", pipeline="nwes")

    told = await piped.discord.ask(event)
    ran = await piped.discord.ask(piped.discord.press(told.data, "Use it"))
    far = await piped.discord.ask(piped.discord.command("run", pipeline="@everyone"))

    assert told.private
    assert told.data["content"].endswith("Did you mean `news`?")
    assert "`news`" in ran.data["content"]
    assert not ran.private
    assert "/pipelines lists them" in far.data["content"]
    assert len(await piped.app.usecases[Runs].list(LOCAL, PageRequest(10), kind="pipeline")) == 1


async def test_what_a_file_defines_is_not_removed_from_discord(piped: House) -> None:
    [made, *_] = await piped.jobs()

    told = await piped.discord.ask(piped.discord.command("remove", job_id=made.id))

    assert told.private
    assert told.data["content"].startswith("✕")
    assert "file" in told.data["content"]
    assert made.id in {one.id for one in await piped.jobs()}


async def test_status_tells_of_everything_of_a_job_and_of_a_run(piped: House) -> None:
    [made, *_] = await piped.jobs()
    event = piped.discord.command("run", pipeline="news")
    await piped.discord.ask(event)
    [run] = await piped.app.usecases[Runs].list(LOCAL, PageRequest(10), kind="pipeline")

    everything = await piped.discord.ask(piped.discord.command("status"))
    job = await piped.discord.ask(piped.discord.command("status", job_id=made.id))
    one = await piped.discord.ask(piped.discord.command("status", job_id=run.id))
    none = await piped.discord.ask(piped.discord.command("status", job_id="run_none"))

    assert f"**Foliot {foliot.__version__}** · 2 jobs, 2 active" in everything.data["content"]
    assert run.id in everything.data["content"]
    assert "It has not run yet." in job.data["content"]
    assert run.id in one.data["content"]
    assert none.data["content"] == "✕ there is no run 'run\\_none'"


async def test_typing_offers_pipelines(piped: House) -> None:
    typed = piped.discord.command("run", AUTOCOMPLETE, focused="pipeline", pipeline="EW")

    assert (await piped.discord.ask(typed)).body["data"]["choices"] == [{"name": "news", "value": "news"}]


async def test_what_was_promised_to_all_and_failed_is_told_to_one(
    piped: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "PATIENCE", 0.0)
    event = piped.discord.command("run", pipeline="something else")

    promised = await piped.discord.ask(event)
    *_, taken_back, told = await piped.discord.until(lambda: len(sent := piped.discord.of(event)) == 3 and sent)

    assert (promised.body["type"], promised.private) == (5, False)
    assert taken_back.method == "DELETE"
    assert told.private
    assert "no pipeline" in told.data["content"]


async def test_a_button_that_takes_long_changes_its_message_all_the_same(
    piped: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = await piped.discord.ask(piped.discord.command("schedule", pipeline="news", cron="0 9 * * *"))
    monkeypatch.setattr(answer, "PATIENCE", 0.0)
    event = piped.discord.press(shown.data, "Save")

    promised = await piped.discord.ask(event)
    [told] = await piped.discord.until(lambda: piped.discord.of(event, "@original"))

    assert promised.body["type"] == 6
    assert told.data["content"].startswith("✓ Saved.")


async def test_a_run_that_outlives_its_interaction_is_followed_as_any_message(
    piped: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_messages, "TOKEN_SECONDS", -1.0)
    await piped.discord.ask(piped.discord.command("run", pipeline="prices"))

    [told] = await piped.discord.until(
        lambda: [one for one in piped.discord.sent if one.method == "PATCH" and f"/channels/{CHANNEL}/" in one.path]
    )

    assert told.data["content"].startswith("✓ `prices` succeeded")
    assert told.data["allowed_mentions"] == {"parse": []}
    assert told.authorization == f"Bot {TOKEN}"


# --- when Discord is not there ---


async def fires(house: House) -> None:
    """The engine does its work."""
    made = await house.job("now", type="interval", run_at=None, interval_seconds=1)
    for _ in range(500):
        if await house.app.usecases[Runs].of_schedule(LOCAL, made.id, PageRequest(1), None):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nothing fired")


async def health(house: House) -> str:
    return " ".join((await house.app.usecases[HealthChecks].detailed(LOCAL)).problems)


async def test_a_token_that_is_refused_is_said_and_stops_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    wrong = TOKEN.replace("not-a", "no")
    async with a_discord() as discord, a_house(tmp_path, discord, DISCORD_TOKEN=wrong) as house:
        await discord.until(lambda: discord.got["refused"])
        await fires(house)

        assert "Discord refuses the token: correct DISCORD_TOKEN" in await health(house)
        assert discord.got == {"login": 1, "refused": 1}
    assert wrong not in capsys.readouterr().out + caplog.text


async def test_a_discord_that_is_away_is_found_when_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_REST", 0.05)
    async with a_discord() as gone:
        pass
    async with a_house(tmp_path, gone) as house:
        await fires(house)
        assert "Discord: no connection" in await health(house)

        async with a_discord(port=int(gone.url.rpartition(":")[2])) as discord:
            await discord.until(lambda: discord.got["identify"])
            told = await discord.ask(discord.command("jobs"))

    assert "`now`" in told.data["content"]


async def test_a_discord_that_says_nothing_holds_nobody_up(tmp_path: Path) -> None:
    async with a_discord() as discord:
        discord.answers.clear()
        async with a_house(tmp_path, discord) as house:
            await discord.until(lambda: discord.got["login"])
            await fires(house)

    assert discord.got == {"login": 1}


async def test_what_discord_should_not_send_costs_a_connection_and_nothing_else(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "FIRST_REST", 0.05)
    await house.discord.fire({"id": "x"})
    await house.discord.until(lambda: house.discord.got["identify"] == 2)

    assert "no scheduled jobs" in (await house.discord.ask(house.discord.command("jobs"))).data["content"]


async def test_whatever_is_typed_is_answered(house: House) -> None:
    texts = [
        "",
        "\x00",
        "\ud800".encode("utf-8", "replace").decode(),
        "x" * 6000,
        "`" * 50,
        "sch_' OR 1=1 --",
        "0 0 * * *",
    ]
    for text in texts:
        told = await house.discord.ask(house.discord.command("remove", job_id=text))
        assert told.private
        assert told.data["content"].startswith("✕")
        assert len(told.data["content"]) < 2000


async def test_foliot_check_asks_discord_who_the_bot_is(tmp_path: Path) -> None:
    async with a_discord() as discord:
        right = settings(discord, tmp_path)
        wrong = settings(discord, tmp_path, DISCORD_TOKEN="x", FOLIOT_DISCORD_ROLES="")

        assert [(one.level, one.message) for one in await check_discord(right)] == [("ok", "belongs to the bot foliot")]
        roles, token = await check_discord(wrong)
    [away] = await check_discord(right)

    assert (roles.level, roles.key) == ("warning", "FOLIOT_DISCORD_ROLES")
    assert (token.level, token.message) == ("error", "is refused by Discord: copy the bot's token again")
    assert away.level == "warning"
    assert await check_discord(Settings.load({"FOLIOT_HOME": str(tmp_path)})) == []
