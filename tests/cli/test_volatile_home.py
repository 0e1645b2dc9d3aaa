"""A home in memory is reported: by `foliot check`, and by a server as it starts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from foliot.cli import volatile
from foliot.cli.volatile import MOUNTS
from tests.nursery import foliot

TABLE = r"""overlay / overlay rw 0 0
tmpfs /tmp tmpfs rw,size=65536k 0 0
/dev/sda1 /tmp/disk ext4 rw 0 0
tmpfs /var/with\040space tmpfs rw 0 0
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/foliot", None),
        ("/tmp/foliot", "tmpfs"),
        ("/tmp", "tmpfs"),
        ("/tmp/disk/foliot", None),
        ("/tmpfoliot", None),
        ("/var/with space/foliot", "tmpfs"),
    ],
)
def test_the_nearest_mount_decides(tmp_path: Path, path: str, kind: str | None) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE)

    assert volatile.volatile(Path(path), table) == kind
    assert volatile.volatile(Path(path), tmp_path / "nowhere") is None


def in_memory() -> Path | None:
    """A directory of this machine that is in memory and may be written."""
    for line in MOUNTS.read_text().splitlines():
        place, kind = Path(line.split(" ")[1]), line.split(" ")[2]
        if kind == "tmpfs" and os.access(place, os.W_OK) and place.is_dir():
            return place
    return None


def test_check_and_start_say_that_a_home_in_memory_forgets(tmp_path: Path) -> None:
    place = in_memory()
    assert place is not None, "every Linux has /dev/shm"
    home = place / f"foliot-test-{os.getpid()}"
    given = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "DATABASE_URL"))}
    given |= {"FOLIOT_HOME": str(home), "DATABASE_URL": f"sqlite:///{tmp_path / 'foliot.db'}", "LOG_FORMAT": "json"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with foliot("check", "--json", env=given, **pipes) as process:
        found = json.loads(process.communicate(timeout=30)[0])["findings"]
    # A scheduler needs another database, and says so after it has looked at its home.
    with foliot("scheduler", env=given, **pipes) as process:
        said = "".join(process.communicate(timeout=30))

    assert [one["level"] for one in found if "is in memory (tmpfs)" in one["message"]] == ["warning"]
    assert "is in memory (tmpfs)" in said
    assert "home_in_memory" in said
