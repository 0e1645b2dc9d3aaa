"""Settings of tasks: their modules, and the processes of CPU-bound ones."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from foliot.config import parse as reading
from foliot.config.field import about

_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variables(text: str) -> tuple[str, ...]:
    """Names of environment variables that are not settings of Foliot."""
    names = reading.entries(text)
    for name in names:
        if not _VARIABLE.fullmatch(name) or name.upper().startswith("FOLIOT_"):
            raise ValueError(
                "must be a comma-separated list of environment variables, none of which begins with FOLIOT_"
            )
    return tuple(dict.fromkeys(names))


def modules(text: str) -> tuple[str, ...]:
    """Names of modules without duplicates, in the order given."""
    names = reading.entries(text)
    for name in names:
        if not _MODULE.fullmatch(name) or name.endswith(".py"):
            raise ValueError("must be a comma-separated list of Python modules, such as shop.tasks (no file names)")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskSettings:
    """Settings of tasks."""

    tasks: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Python modules with tasks (`@task`), separated by commas; the directory in which Foliot is started is "
            "searched too. Set it for every process: servers check parameters with it. Default: only the built-in "
            "tasks, and those of installed packages (entry points of the group `foliot.tasks`).",
            "FOLIOT_TASKS",
            read=modules,
        ),
    )
    processes: int | None = field(
        default=None,
        metadata=about(
            "How many processes run tasks with `cpu=True` at once. Default: the number of processors.",
            "FOLIOT_PROCESSES",
            read=reading.whole(1, 1000),
        ),
    )
    process_calls: int = field(
        default=50,
        metadata=about(
            "How many tasks such a process runs before a new one replaces it.",
            "FOLIOT_PROCESS_CALLS",
            read=reading.whole(1, 1_000_000),
        ),
    )

    task_env: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Environment variables that such a process is given, separated by commas. It starts without any other, "
            "apart from `PATH`, `HOME`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`, `TMPDIR` and what Python needs; a "
            "variable whose name begins with `FOLIOT_` cannot be given.",
            "FOLIOT_TASK_ENV",
            read=variables,
        ),
    )

    @property
    def process_count(self) -> int:
        return self.processes or os.cpu_count() or 1
