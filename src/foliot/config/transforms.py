"""Settings of pipeline steps: modules of transforms, and directories that they may write to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.tasks import modules


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
