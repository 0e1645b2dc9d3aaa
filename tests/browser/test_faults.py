"""The page of pipelines shows that their file cannot be read, and updates when it is corrected."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open, a_house

BROKEN = "pipelines:\n  prices:\n   chain: [\n  - nope: {\n"
SOUND = "pipelines:\n  prices:\n    chain: [{class: JsonParser}]\n"


def test_a_file_that_cannot_be_read_is_told_where_nothing_is_loaded(tmp_path: Path, tab: Open) -> None:
    file = tmp_path / "pipelines.yml"
    file.write_text(BROKEN)
    with a_house(tmp_path / "home", "--pipelines", str(file)) as house:
        page = tab(house).go("/pipelines")

        alert = page.get_by_role("alert")
        # The file is read soon after the server is up.
        expect(alert).to_have_count(1)
        told = house.foliot("pipeline", "list")["faults"]
        expect(alert).to_contain_text(f"{file}:{told[0]['line']}:{told[0]['column']}")
        expect(alert).to_contain_text(told[0]["message"])
        expect(page.get_by_text("the file has errors")).to_be_visible()

        file.write_text(SOUND)
        expect(page.get_by_role("cell", name="prices")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        assert house.foliot("pipeline", "list")["faults"] == []
