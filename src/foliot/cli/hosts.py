"""`foliot host …`: hosts, and the sessions that pages of a host are fetched with."""

from __future__ import annotations

from foliot.features.fetching import cli as hosts
from foliot.features.host_sessions import cli as sessions
from foliot.terminal.group import CommandGroup

group = CommandGroup("Show hosts and what waits for them; set their limits and sessions.")
group.add_typer(hosts.group)
group.add_typer(sessions.group, name="session")
