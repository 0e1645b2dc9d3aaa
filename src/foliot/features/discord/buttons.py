"""Buttons that survive a restart: their action is in the custom id, its subject in the message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import discord


class ButtonAction(StrEnum):
    """The action of a button."""

    SAVE = "save"
    CANCEL = "cancel"
    SCHEDULE = "schedule"
    """Preview the suggested schedule."""
    RUN = "run"
    """Run the suggested pipeline."""


@dataclass(frozen=True, slots=True)
class Button:
    """`of` is the id of its interaction, the idempotency key: pressed twice, it has one effect."""

    label: str
    press: ButtonAction
    of: int
    main: bool = False


class FoliotButton(
    discord.ui.DynamicItem[discord.ui.Button[Any]], template=r"foliot:(?P<press>[a-z]+):(?P<of>[0-9]{1,20})"
):
    """A button of the bot, whichever process sent it."""

    def __init__(self, button: Button) -> None:
        style = discord.ButtonStyle.primary if button.main else discord.ButtonStyle.secondary
        super().__init__(
            discord.ui.Button(label=button.label, style=style, custom_id=f"foliot:{button.press}:{button.of}")
        )
        self.button = button

    @classmethod
    async def from_custom_id(
        cls, _interaction: discord.Interaction[Any], item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        return cls(Button(getattr(item, "label", None) or "", ButtonAction(match["press"]), int(match["of"])))

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        await interaction.client.pressed(interaction, self.button.press, self.button.of)


def view_of(buttons: Sequence[Button]) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for button in buttons:
        view.add_item(FoliotButton(button))
    return view
