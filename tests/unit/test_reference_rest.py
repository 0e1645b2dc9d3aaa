"""The reference of the HTTP API names every route, problem, field and metric."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import cast

from foliot.auth import api_key
from foliot.commands.use_cases import UseCases
from foliot.core.access import SCOPES
from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.features.api_keys.schema import KeyRequest, NewKey
from foliot.features.health.prometheus import expose
from foliot.features.health.usecases.health import Numbers
from foliot.features.schedules.model.document import ASLEEP, KNOWN
from foliot.servers.http.app import create_app
from foliot.servers.http.bodies import ScheduleRequest
from foliot.servers.http.models import Event
from foliot.servers.http.problems import TITLES
from tests.reference import REFERENCE


def first_column(page: str) -> set[str]:
    lines = (REFERENCE / f"{page}.md").read_text().splitlines()
    return {name for line in lines if line.startswith("| ") for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


def test_every_route_is_documented_and_every_documented_route_exists() -> None:
    paths = create_app(cast("UseCases", None)).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

    assert {name for name in first_column("rest") if re.match(r"[A-Z]+ /", name)} == routes


def test_every_problem_is_documented_with_its_status() -> None:
    page = (REFERENCE / "rest.md").read_text()

    for code, (status, _) in TITLES.items():
        assert f"| `{code}` | {status} |" in page


def test_every_field_of_a_request_is_documented_and_modelled() -> None:
    page = (REFERENCE / "rest.md").read_text()

    assert set(ScheduleRequest.model_fields) == KNOWN | ASLEEP
    assert [name for name in KNOWN if f"`{name}`" not in page] == []


def test_every_scope_and_every_field_of_a_key_is_documented_and_modelled() -> None:
    page = (REFERENCE / "rest.md").read_text()

    assert set(KeyRequest.model_fields) == api_key.KNOWN
    assert [name for name in {*NewKey.model_fields, *SCOPES} if f"`{name}`" not in page] == []


def test_every_field_of_an_event_is_documented() -> None:
    assert set(Event.model_fields) <= first_column("events")


def test_every_metric_is_documented_and_every_documented_metric_exists() -> None:
    histograms = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
    text = expose(Numbers({}, {}, {}, *histograms, 0, 0, datetime(2027, 1, 1, tzinfo=UTC))).decode()
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}

    assert {name.partition("{")[0] for name in first_column("metrics")} == named
