"""`foliot schedule …`."""

from foliot.features.schedules.cli import instants, schedules, transfer
from foliot.terminal.group import CommandGroup

group = CommandGroup("Create, show and control schedules.")
for part in (schedules, instants, transfer):
    group.add_typer(part.group)
