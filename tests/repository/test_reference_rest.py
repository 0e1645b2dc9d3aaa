"""The reference of the HTTP API names every route, problem, field and metric."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from foliot.auth.identity import ApiKeyRequest
from foliot.core.access import SCOPES
from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.features.api_keys import schema as api_keys_schema
from foliot.features.health.prometheus import expose
from foliot.features.health.usecases import MetricNumbers
from foliot.features.runs import schema as runs_schema
from foliot.features.schedules.model.request import ScheduleRequest
from foliot.servers.http.problems import TITLES
from tests.declared import openapi
from tests.reference import REFERENCE


def names(declaration: type[Any]) -> set[str]:
    return {each.name for each in fields(declaration)}


def first_column(page: str) -> set[str]:
    lines = (REFERENCE / f"{page}.md").read_text().splitlines()
    return {name for line in lines if line.startswith("| ") for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


def test_every_route_is_documented_and_every_documented_route_exists() -> None:
    paths = openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

    assert {name for name in first_column("rest") if re.match(r"[A-Z]+ /", name)} == routes


def test_every_problem_is_documented_with_its_status() -> None:
    page = (REFERENCE / "rest.md").read_text()

    for code, (status, _) in TITLES.items():
        assert f"| `{code}` | {status} |" in page


def test_every_field_of_a_request_is_documented() -> None:
    page = (REFERENCE / "rest.md").read_text()

    assert [name for name in names(ScheduleRequest) if f"`{name}`" not in page] == []


def test_every_scope_and_every_field_of_a_key_is_documented() -> None:
    page = (REFERENCE / "rest.md").read_text()

    shown = {*names(ApiKeyRequest), *names(api_keys_schema.NewApiKey), *SCOPES}
    assert [name for name in shown if f"`{name}`" not in page] == []


def test_every_field_of_an_event_is_documented() -> None:
    assert set(runs_schema.RunEvent.__annotations__) <= first_column("events")


def test_every_metric_is_documented_and_every_documented_metric_exists() -> None:
    histograms = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
    text = expose(MetricNumbers({}, {}, {}, *histograms, 0, 0, datetime(2027, 1, 1, tzinfo=UTC))).decode()
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}

    assert {name.partition("{")[0] for name in first_column("metrics")} == named
