"""A group of commands whose first word need not be one of them."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class StartsByDefault(TyperGroup):
    """What is no command, `foliot crawl https://…` or `foliot crawl --depth 2 https://…`, is given to `start`."""

    default: ClassVar[str] = "start"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
