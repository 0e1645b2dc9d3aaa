"""A backup of changedetection.io and a list of URLs become watches, and what does not carry over is said."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from foliot.features.watches.cli.imported import read_source
from foliot.features.watches.model.imported import UnreadableBackup
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.features.watches.test_watches import Watched
from tests.world import World

__all__ = ["server"]

WATCHES: dict[str, dict[str, Any]] = {
    "a": {
        "url": "https://shop.example/1",
        "title": "Kettle",
        "tags": ["t1"],
        "include_filters": ["#main", ".price"],
        "subtractive_selectors": [".ad", "xpath://aside"],
        "ignore_text": ["visitors", "/updated \\d+/i"],
        "trigger_text": ["sold out"],
        "text_should_not_be_present": ["maintenance"],
        "time_between_check": {"hours": 2, "minutes": 30},
        "time_between_check_use_default": False,
        "fetch_backend": "html_webdriver",
        "notification_urls": ["ntfy://x"],
        "trim_text_whitespace": True,
    },
    "b": {"url": "https://shop.example/2", "title": "Kettle", "paused": True, "include_filters": ["json:$.offers[0]"]},
    "c": {"url": "https://shop.example/{{ today }}", "method": "POST"},
    "d": {"url": "https://shop.example/3", "processor": "restock_diff", "include_filters": ["jq:.a"], "method": "POST"},
}
INDEX: dict[str, Any] = {
    "watching": WATCHES,
    "settings": {
        "requests": {"time_between_check": {"days": 1}},
        "application": {"tags": {"t1": {"title": "Big Shops"}}, "global_subtractive_selectors": ["footer"]},
    },
}


def packed(path: Path, **files: object) -> str:
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(
                name.replace("__", "/").replace("_json", ".json").replace("url_", "url-"), json.dumps(content)
            )
    return str(path)


def test_a_backup_becomes_documents_and_notes(tmp_path: Path) -> None:
    found = read_source(packed(tmp_path / "backup.zip", url_watches_json=INDEX), "", 60)
    kettle, second, third = found.documents
    assert kettle == {
        "name": "Kettle",
        "urls": ["https://shop.example/1"],
        "schedule": {"type": "interval", "interval_seconds": 9000},
        "tags": ["big-shops"],
        "render": "always",
        "select": "#main, .price",
        "ignore": [
            "footer",
            ".ad",
            {"xpath": "//aside"},
            {"regex": "(?im)^.*(?:visitors).*$"},
            {"regex": "(?im)^.*(?:updated \\d+).*$"},
            "whitespace",
        ],
        "when": 'changed() and (contains(text, "sold out")) and not (contains(text, "maintenance"))',
    }
    assert (second["name"], second["select"]) == ("Kettle 2", "$.offers[0]")
    assert second["schedule"] == {"type": "interval", "interval_seconds": 86_400}
    assert found.paused == {"Kettle 2"}
    assert third["fields"] == {"price": {"type": "price"}}
    said = [f"{name}: {note}" for name, note in found.notes]
    assert any("Kettle: its notifications are not copied" in each for each in said)
    assert any("left out: its URL is a template" in each for each in said)
    assert any("its method was POST" in each for each in said)
    assert any("filters by jq" in each for each in said)


def test_newer_backups_keep_each_watch_in_a_file_of_its_own(tmp_path: Path) -> None:
    index = {"settings": INDEX["settings"]}
    path = packed(
        tmp_path / "b.zip", changedetection_json=index, a__watch_json=WATCHES["a"], b__watch_json=WATCHES["b"]
    )
    assert [each["name"] for each in read_source(path, "", 60).documents] == ["Kettle", "Kettle 2"]


@pytest.mark.parametrize("text", ["", "{", "[]", "not a url", "{}", '{"watching": []}'])
def test_what_is_no_backup_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(UnreadableBackup):
        read_source(str(path), "", 60)


async def test_what_is_imported_is_accepted(world: World, client: Any, tmp_path: Path) -> None:
    watched = Watched(world, client)
    for document in read_source(packed(tmp_path / "backup.zip", url_watches_json=INDEX), "", 60).documents:
        answer = await watched.client.post("/api/watches", document)
        assert answer.status == 201, answer.text
    listed = (await watched.get("/api/watches"))["items"]
    assert sorted(each["name"] for each in listed) == ["Kettle", "Kettle 2", "https://shop.example/3"]


def test_a_list_of_urls_is_one_paused_watch_and_is_created_once(
    server: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    path = tmp_path / "urls.txt"
    path.write_text("# shops\nhttps://shop.example/1 prices\n\nhttps://shop.example/2\nhttps://shop.example/1\n")
    server.will("POST", "/api/watches", (201, {"id": "wat_1"}), (409, {"detail": "there is a watch named so"}))
    server.will("POST", "/api/watches/wat_1/pause", (200, {"id": "wat_1"}))

    first = invoke("watches", "import", str(path), "--name", "Shops", "--every", "7200")
    (_, created, body, _), (_, paused, _, _) = server.request(), server.request()
    second = invoke("watches", "import", str(path), "--name", "Shops")

    assert (first.code, second.code) == (0, 0)
    assert first.out == "1 watches created, 0 already existed\n"
    assert second.out == "0 watches created, 1 already existed\n"
    assert (created, paused) == ("/api/watches", "/api/watches/wat_1/pause")
    assert body["urls"] == ["https://shop.example/1", "https://shop.example/2"]
    assert body["schedule"] == {"type": "interval", "interval_seconds": 7200}
