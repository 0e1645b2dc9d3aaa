"""The articles action: checks the configuration of a batch. The items of a batch are fetched by their own actors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from foliot.engine.model.run import HandedBack, Outcome
from foliot.engine.ports import ActionContext
from foliot.features.articles.config import ArticleTargets, read_config
from foliot.features.articles.model import KIND


class ArticlesAction:
    """Checks the configuration of batches; no executor claims one."""

    kind = KIND
    timeout = timedelta(seconds=60)

    def __init__(self, *, targets: ArticleTargets) -> None:
        self._targets = targets

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming each bad URL."""
        return read_config(config, self._targets)

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Hands back a run that an earlier version made claimable; it keeps its attempt, and is opened as a batch."""
        return HandedBack("the items of a batch are created without a worker")
