"""Definitions of the slash commands."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import discord
from discord import app_commands

from foliot.core.errors import FoliotError
from foliot.features.discord.answer import DiscordReplies
from foliot.features.discord.draft_message import LONGEST, ScheduleDraftMessage
from foliot.features.discord.requests import DiscordRequests

Choice = app_commands.Choice
PIPELINE = "The pipeline's name"
JOB = "The job's id, as /jobs shows it"
NAME = app_commands.Range[str, 1, 100]
EXPRESSION = app_commands.Range[str, 1, LONGEST]
Asked = discord.Interaction[Any]
T = TypeVar("T")

TYPING = 2.5
"""Timeout of autocompletion; Discord does not let it be deferred."""


async def _offered(found: Coroutine[Any, Any, Sequence[T]]) -> Sequence[T]:
    """Nothing, on a timeout or an error: autocompletion is optional."""
    try:
        async with asyncio.timeout(TYPING):
            return await found
    except (FoliotError, TimeoutError):
        return ()


def commands(desk: DiscordRequests, answering: DiscordReplies) -> Sequence[app_commands.Command[Any, ..., Any]]:
    """Every command. Members without permission see them too: permission is checked when they are used."""

    async def pipelines_named(asked: Asked, typed: str) -> list[Choice[str]]:
        return [Choice(name=name, value=name) for name in await _offered(desk.choose_pipeline(asked, typed))]

    async def jobs_named(asked: Asked, typed: str) -> list[Choice[str]]:
        found = await _offered(desk.choose_job(asked, typed))
        return [Choice(name=f"{one.name[:60]} ({one.id[-8:]})", value=one.id) for one in found]

    @app_commands.command(description="Run a pipeline now")
    @app_commands.describe(pipeline=PIPELINE)
    @app_commands.autocomplete(pipeline=pipelines_named)
    async def run(asked: Asked, pipeline: NAME) -> None:
        await answering.give(asked, desk.run(asked, pipeline, asked.id), private=False)

    @app_commands.command(description="Schedule a pipeline; shows when it would run before anything is saved")
    @app_commands.describe(
        pipeline=PIPELINE,
        cron="When, as a cron expression: 0 9 * * 1-5 is at nine from Monday to Friday",
        timezone="The time zone, such as Europe/Stockholm",
    )
    @app_commands.autocomplete(pipeline=pipelines_named)
    async def schedule(asked: Asked, pipeline: NAME, cron: EXPRESSION, timezone: NAME | None = None) -> None:
        draft = ScheduleDraftMessage(pipeline, cron.strip(), (timezone or "").strip())
        await answering.give(asked, desk.schedule(asked, draft, asked.id))

    @app_commands.command(description="List the scheduled jobs")
    async def jobs(asked: Asked) -> None:
        await answering.give(asked, desk.jobs(asked))

    @app_commands.command(description="Remove a scheduled job")
    @app_commands.describe(job_id=JOB)
    @app_commands.autocomplete(job_id=jobs_named)
    async def remove(asked: Asked, job_id: NAME) -> None:
        await answering.give(asked, desk.remove(asked, job_id.strip()))

    @app_commands.command(description="List the pipelines")
    async def pipelines(asked: Asked) -> None:
        await answering.give(asked, desk.pipelines(asked))

    @app_commands.command(description="How Foliot is, or a job, or a run")
    @app_commands.describe(job_id=f"{JOB}, or a run's id")
    @app_commands.autocomplete(job_id=jobs_named)
    async def status(asked: Asked, job_id: NAME | None = None) -> None:
        await answering.give(asked, desk.status(asked, None if job_id is None else job_id.strip()))

    made: list[app_commands.Command[Any, ..., Any]] = [run, schedule, jobs, remove, pipelines, status]
    for one in made:
        one.guild_only = True
    return made
