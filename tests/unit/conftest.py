"""The command line, made once: it is the same for every test, and takes a tenth of a second to make."""

from __future__ import annotations

from functools import cache

import typer.testing

typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]
