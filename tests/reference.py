"""Writes the pages of the reference that only repeat what the code declares: `make reference`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foliot.settings import Settings
from foliot.settings.keys import ACCOUNTS, CLIENT, LATER
from foliot.settings.model import Declared

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

SETTINGS = """\
# Settings

Every setting is an environment variable; those of `foliot up` are flags too (`--port` for `FOLIOT_PORT`), and a flag
wins. An empty variable counts as unset. An alias means the same as its setting; two that differ stop the start, and so
does a `FOLIOT_…` variable that is not known. `foliot check` prints every complaint at once.

| variable | aliases | default | what it says |
|---|---|---|---|
{settings}

## For the client commands

| variable | what it says |
|---|---|
{client}

## Accounts

This version runs in local mode only, on loopback, and asks nobody for a token. Whoever sets one of these expects
otherwise, so it refuses to start: {accounts}.

## Accepted and not used

Known variables that change nothing in this version; `foliot check` names those that are set.

| variable | what it is for |
|---|---|
{later}
"""


def settings_page() -> str:
    return SETTINGS.format(
        settings="\n".join(setting_row(setting) for setting in Settings.declared()),
        client="\n".join(f"| `{key}` | {sentence} |" for key, sentence in CLIENT.items()),
        accounts=", ".join(f"`{key}`" for key in ACCOUNTS),
        later="\n".join(f"| {', '.join(f'`{key}`' for key in keys)} | {what} |" for keys, what in LATER.items()),
    )


def setting_row(setting: Declared) -> str:
    name, *aliases = (f"`{key}`" for key in setting.keys)
    match setting.default:
        case None | ():
            default = ""
        case tuple():
            default = f"`{','.join(map(str, setting.default))}`"
        case value:
            default = f"`{value}`"
    return f"| {name} | {' '.join(aliases)} | {default} | {setting.doc} |"


PAGES: dict[str, Callable[[], str]] = {
    "settings": settings_page,
}


if __name__ == "__main__":
    for title, write in PAGES.items():
        (REFERENCE / f"{title}.md").write_text(write())
