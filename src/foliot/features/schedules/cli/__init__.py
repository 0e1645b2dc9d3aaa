"""`foliot schedule …`."""

from foliot.features.schedules.cli import edit, instants, schedules, transfer, versions
from foliot.terminal.group import CommandGroup

group = CommandGroup("Create, edit, show and control schedules.")
for part in (schedules, edit, instants, versions, transfer):
    group.add_typer(part.group)
