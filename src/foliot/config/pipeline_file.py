"""Settings of the pipelines file: its path and its tenant."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.core.access import KEEPER


def file(text: str) -> Path:
    """An absolute path, independent of later changes of the working directory."""
    if "\0" in text:
        raise ValueError("must be the path of a file, without null bytes")
    return Path(text).expanduser().absolute()


def tenant(text: str) -> str:
    """A tenant's name, as in tokens."""
    if not 1 <= len(text) <= 64 or not text.isprintable():
        raise ValueError("must be the name of a tenant, 1 to 64 characters")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class PipelineFileSettings:
    """Settings of the pipelines file."""

    pipelines: Path | None = field(
        default=None,
        metadata=about(
            "The YAML file that defines pipelines; edits take effect within 2 s. Read by `foliot up` and "
            "`foliot scheduler`. Default: none.",
            "FOLIOT_PIPELINES",
            "PIPELINES_CONFIG",
            read=file,
        ),
    )
    pipelines_tenant: str = field(
        default=KEEPER,
        metadata=about("The tenant whose pipelines they are.", "FOLIOT_PIPELINES_TENANT", read=tenant),
    )
    scheduler_mode: str = field(
        default="scheduler",
        metadata=about(
            "`scheduler`, or `legacy`: `foliot up` and `foliot scheduler` run every pipeline of the file once, one "
            "after the other, and end.",
            "SCHEDULER_MODE",
            read=reading.choice("scheduler", "legacy"),
        ),
    )
