"""What a request may ask a browser to do, and how its mistakes are named."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from foliot.core.errors import Invalid
from foliot.features.fetching.browser_actions import BrowserActions, as_document, read_actions
from foliot.features.pipelines.steps.fetchers import HttpFetcher

GIVEN: dict[str, Any] = {
    "wait_for": ".price",
    "scroll": 3,
    "steps": [
        {"do": "fill", "selector": "#q", "value": "{{ secret.SHOP }} x"},
        {"do": "press", "key": "Enter"},
    ],
    "load": ["image"],
}


def test_what_is_read_can_be_stored_and_read_again() -> None:
    actions = read_actions("browser", GIVEN)
    assert as_document(actions) == GIVEN
    assert read_actions("browser", as_document(actions)) == actions
    assert actions.secrets() == {"SHOP"}
    assert as_document(BrowserActions()) == {}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"wait_for": -1}, "browser.wait_for"),
        ({"wait_for": True}, "browser.wait_for"),
        ({"wait_for": "a\nb"}, "browser.wait_for"),
        ({"scroll": 51}, "browser.scroll"),
        ({"steps": [{"do": "click"}]}, "browser.steps.0.selector"),
        ({"steps": [{"do": "press"}]}, "browser.steps.0.key"),
        ({"steps": [{"do": "eval", "selector": "x"}]}, "browser.steps.0.do"),
        (
            {"steps": [{"do": "fill", "selector": "x", "value": "{{ secret.webhook_signing }}"}]},
            "browser.steps.0.value",
        ),
        ({"steps": [{"do": "fill", "selector": "x", "value": "{{ secrets.X }}"}]}, "browser.steps.0.value"),
        ({"steps": [{"do": "press", "key": "a"}] * 21}, "browser.steps"),
        ({"load": ["script"]}, "browser.load.0"),
        ({"script": "alert(1)"}, "browser.script"),
    ],
)
def test_a_mistake_names_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        read_actions("browser", given)
    assert wrong.value.field == field


def test_a_step_of_a_pipeline_takes_them() -> None:
    step = HttpFetcher(urls=["https://shop.example/"], browser=GIVEN)
    assert step._options.browser == read_actions("browser", GIVEN)
    with pytest.raises(ValidationError, match=r"browser\.steps\.0\.key"):
        HttpFetcher(urls=["https://shop.example/"], browser={"steps": [{"do": "press"}]})
