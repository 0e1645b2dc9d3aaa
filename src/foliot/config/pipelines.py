"""Settings of pipelines: their file and its tenant, modules of transforms, directories that sinks may write to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.tasks import modules
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


def directories(text: str) -> tuple[Path, ...]:
    """Without duplicates, in the order given."""
    return tuple(dict.fromkeys(reading.directory(name) for name in reading.entries(text)))


@dataclass(frozen=True, kw_only=True, repr=False)
class TransformSettings:
    """Settings of pipeline steps."""

    transforms: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Python modules with transforms (`foliot.Transform`), separated by commas; the directory in which Foliot "
            "is started is searched too. Set it for every process: servers check pipelines with it. Default: only the "
            "built-in transforms, and those of installed packages (entry points of the group `foliot.transforms`).",
            "FOLIOT_TRANSFORMS",
            read=modules,
        ),
    )
    sink_dirs: tuple[Path, ...] = field(
        default=(),
        metadata=about(
            "Directories in which the file sinks of pipelines may write besides `FOLIOT_HOME/out`, separated by "
            "commas. Default: none.",
            "FOLIOT_SINK_DIRS",
            read=directories,
        ),
    )
