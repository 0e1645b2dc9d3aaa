"""Writes the pages of the reference that only repeat what the code declares: `make reference`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foliot.config.field import SettingField
from foliot.config.settings import Settings
from foliot.config.unknown_keys import CLIENT, LATER

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

SETTINGS = """\
# Settings

Every setting is an environment variable; those of `foliot up` are flags too (`--port` for `FOLIOT_PORT`), and a flag
wins. An empty variable counts as unset. An alias means the same as its setting; two that differ stop the start, and so
does an unknown `FOLIOT_…` variable. `foliot check` prints every error at once.

| variable | aliases | default | meaning |
|---|---|---|---|
{settings}

## For the client commands

| variable | meaning |
|---|---|
{client}

## Local mode, or tokens

Without `FOLIOT_JWT_SECRET`, `FOLIOT_JWKS_URL` and `FOLIOT_JWT_KEY_FILE` Foliot is in local mode: it listens on loopback
only and needs no token. With one of them, every call needs a token or an API key
([security](../concepts/security.md)). Two of them, an empty one, or token settings without any of them stop the
start; so do keys that are short, repeated or placeholders, and, when tokens are required, well-known passwords in the
URL of a server on another machine.

## Accepted and not used

Known variables that change nothing in this version; `foliot check` names those that are set.

| variable | purpose |
|---|---|
{later}
"""


def settings_page() -> str:
    return SETTINGS.format(
        settings="\n".join(setting_row(setting) for setting in Settings.declared()),
        client="\n".join(f"| `{key}` | {sentence} |" for key, sentence in CLIENT.items()),
        later="\n".join(f"| {', '.join(f'`{key}`' for key in keys)} | {what} |" for keys, what in LATER.items()),
    )


def setting_row(setting: SettingField) -> str:
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
