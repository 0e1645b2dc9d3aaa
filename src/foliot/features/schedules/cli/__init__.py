"""`foliot schedule …`."""

from foliot.features.schedules.cli import edit, instants, schedules, transfer
from foliot.terminal.group import CommandGroup

group = CommandGroup("Create, edit, show and control schedules.")
for part in (schedules, edit, instants, transfer):
    group.add_typer(part.group)
