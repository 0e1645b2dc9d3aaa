"""Settings of browsers, and what `foliot check` says about them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from foliot.cli.check.browser import check_browser
from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from foliot.features.fetching.render import installed
from foliot.features.fetching.render.build import at_once

MEBIBYTE = 1024 * 1024


def load(**environ: str) -> Settings:
    return Settings.load({"FOLIOT_HOME": "/tmp", **environ})


def fields_of(error: SettingsError) -> list[str]:
    return [complaint.field for complaint in error.complaints]


def test_no_browser_is_used_unless_it_is_asked_for() -> None:
    assert not load().has_browser
    assert not load(FOLIOT_BROWSER="off").has_browser
    assert load(FOLIOT_BROWSER="AUTO").browser == "auto"
    assert load(FOLIOT_BROWSER_URL="http://127.0.0.1:9222").has_browser


def test_a_browser_elsewhere_needs_a_way_to_the_proxy() -> None:
    with pytest.raises(SettingsError) as refused:
        load(FOLIOT_BROWSER_URL="wss://browser.internal/?token=geheim-geheim")
    assert fields_of(refused.value) == ["FOLIOT_BROWSER_URL"]
    assert "geheim" not in str(refused.value)
    settings = load(FOLIOT_BROWSER_URL="wss://browser.internal/?token=x", FOLIOT_BROWSER_PROXY="10.0.0.5:3128")
    assert settings.browser_proxy == ("10.0.0.5", 3128)
    assert "token=x" not in repr(settings)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("FOLIOT_BROWSER", "chromium"),
        ("FOLIOT_BROWSER_URL", "ftp://127.0.0.1"),
        ("FOLIOT_BROWSER_URL", "http://"),
        ("FOLIOT_BROWSER_PROXY", "http://10.0.0.5"),
        ("FOLIOT_BROWSER_PROXY", "10.0.0.5:999999"),
        ("FOLIOT_BROWSERS", "0"),
        ("FOLIOT_BROWSER_MEMORY", "10"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(**{key: value})
    assert fields_of(refused.value) == [key]


def test_one_browser_is_enough() -> None:
    with pytest.raises(SettingsError) as refused:
        load(FOLIOT_BROWSER="auto", FOLIOT_BROWSER_URL="http://127.0.0.1:9222")
    assert fields_of(refused.value) == ["FOLIOT_BROWSER"]


def test_browsers_are_as_many_as_there_are_cores_and_memory_for() -> None:
    assert at_once(2, 24_000 * MEBIBYTE, 768 * MEBIBYTE) == 2
    assert at_once(64, 240_000 * MEBIBYTE, 768 * MEBIBYTE) == 4
    assert at_once(8, 2_100 * MEBIBYTE, 768 * MEBIBYTE) == 2
    assert at_once(8, 300 * MEBIBYTE, 768 * MEBIBYTE) == 1


async def test_the_check_says_how_to_get_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = await check_browser(load())
    assert finding.level == "ok"
    (finding,) = await check_browser(load(FOLIOT_BROWSER=str(tmp_path / "none")))
    assert (finding.level, finding.key) == ("error", "FOLIOT_BROWSER")
    assert "apt install chromium" in finding.message
    monkeypatch.setattr(installed, "has_library", lambda: False)
    (finding,) = await check_browser(load(FOLIOT_BROWSER="auto"))
    assert "pip install 'foliot[browser]'" in finding.message


async def test_the_check_says_when_the_sandbox_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chromium"
    program.touch(mode=0o755)
    monkeypatch.setattr(installed, "needs_no_sandbox", lambda: True)
    *_, finding = await check_browser(load(FOLIOT_BROWSER=str(program)))
    assert (finding.level, finding.key) == ("error", "FOLIOT_BROWSER_SANDBOX")
    assert "--no-sandbox" in finding.message
    *_, finding = await check_browser(load(FOLIOT_BROWSER=str(program), FOLIOT_BROWSER_SANDBOX="off"))
    assert finding.level == "warning"
    monkeypatch.setattr(installed, "needs_no_sandbox", lambda: False)
    assert [each.level for each in await check_browser(load(FOLIOT_BROWSER=str(program)))] == ["ok"]


async def test_the_check_asks_a_browser_that_runs_already() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"ws://127.0.0.1:{port}/?token=geheim"
    (finding,) = await check_browser(load(FOLIOT_BROWSER_URL=url))
    assert finding.level == "ok"
    server.close()
    await server.wait_closed()
    (finding,) = await check_browser(load(FOLIOT_BROWSER_URL=url))
    assert finding.level == "error"
    assert "geheim" not in finding.message
