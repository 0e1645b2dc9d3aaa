"""The settings of the steps of pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest

from foliot.config.parse import SettingsError
from foliot.config.settings import Settings


def load(**environ: str) -> Settings:
    return Settings.load({"HOME": "/nowhere", **environ})


def test_modules_and_directories_are_lists() -> None:
    settings = load(FOLIOT_TRANSFORMS="shop.steps, more", FOLIOT_SINK_DIRS="/srv/a,/srv/b,/srv/a")

    assert settings.transforms == ("shop.steps", "more")
    assert settings.sink_dirs == (Path("/srv/a"), Path("/srv/b"))


def test_unless_said_there_are_none() -> None:
    assert (load().transforms, load().sink_dirs) == ((), ())


@pytest.mark.parametrize("name", ["steps.py", "a b", "os;system", "../steps"])
def test_what_is_no_module_is_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match="FOLIOT_TRANSFORMS: must be a comma-separated list of Python modules"):
        load(FOLIOT_TRANSFORMS=name)
