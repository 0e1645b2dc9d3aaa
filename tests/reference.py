"""Writes what the reference only repeats from the code: `make reference`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from foliot.cli.root import app
from foliot.config.parse import CLIENT, LATER, SPIDERS, SettingField
from foliot.config.settings import Settings

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

## For spiders

Settings of `foliot.scrapy`, for the environment of Scrapyd or the settings of a Scrapy project
([cache](../how-to/crawl-cache.md)); a server accepts them and does not use them.

| variable | meaning |
|---|---|
{spiders}

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
        spiders="\n".join(f"| `{key}` | {sentence} |" for key, sentence in SPIDERS.items()),
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


COMMANDS = "## Commands\n"
"""What precedes this heading of the page on the command line is written by hand; what follows repeats the code."""
MORE = {
    "foliot up": "On a terminal, the key `o` opens the dashboard in a browser (with one process). "
    "[Several processes](../how-to/several-processes.md) share the port and the tables.",
    "foliot discord": "See [Use the Discord bot](../how-to/discord.md).",
    "foliot worker": "See [workers on other machines](../how-to/cluster.md).",
    "foliot token": "Its claims: [security](../concepts/security.md#tokens).",
    "foliot audit list": "See [the audit log](../how-to/audit-log.md).",
    "foliot audit revert": "See [revert an edit](../how-to/audit-log.md#revert-an-edit).",
    "foliot endpoints test": "See [try a target out](../how-to/webhooks.md#try-a-target-out).",
    "foliot queue list": "See [queues and workers](../how-to/queues-and-workers.md).",
    "foliot tenant list": "See [limits](../how-to/limits.md).",
    "foliot listen": "See [receive a webhook on your machine](../how-to/webhooks.md#see-what-a-webhook-brings).",
}
"""Where to read on."""


def cli_page() -> str:
    own, _, _ = (REFERENCE / "cli.md").read_text().partition(COMMANDS)
    return own + COMMANDS + "".join(section(path, command) for path, command in commands())


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its path, in the order of the help."""

    def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
        children = getattr(command, "commands", None)
        if children is None or command.invoke_without_command:
            yield path, command
        for name, child in (children or {}).items():
            yield from walk(child, f"{path} {name}")

    yield from walk(get_command(app), "foliot")


def section(path: str, command: Any) -> str:
    """The help of a command: what it does, an example, its arguments and flags."""
    texts = [line.strip() for line in (command.help or "").split("\n\n")]
    shown = [f"```bash\n{text}\n```" if text.startswith("foliot ") else " ".join(text.split()) for text in texts]
    rows = [parameter_row(one) for one in command.params if one.name != "help" and not one.hidden]
    table = ["\n".join(["| flag | meaning |", "|---|---|", *rows])] if rows else []
    return "\n" + "\n\n".join([f"### `{path}`", *shown, *filter(None, [MORE.get(path)]), *table]) + "\n"


def parameter_row(parameter: Any) -> str:
    names = (
        [*parameter.opts, *parameter.secondary_opts]
        if parameter.param_type_name == "option"
        else [parameter.metavar or parameter.name.upper()]
    )
    return f"| {', '.join(f'`{name}`' for name in names)} | {(parameter.help or '').replace('|', chr(92) + '|')} |"


PAGES: dict[str, Callable[[], str]] = {
    "settings": settings_page,
    "cli": cli_page,
}


if __name__ == "__main__":
    for title, write in PAGES.items():
        (REFERENCE / f"{title}.md").write_text(write())
