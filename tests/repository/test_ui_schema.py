"""The dashboard's types follow the API's own description."""

from __future__ import annotations

from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from tests.declared import openapi

UI = Path(__file__).parents[2] / "ui"


@cache
def schema_module() -> ModuleType:
    spec = spec_from_file_location("ui_schema", UI / "schema.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def written() -> str:
    return str(schema_module().schema())


def test_the_dashboards_types_are_those_that_the_api_describes() -> None:
    kept = schema_module().SCHEMA.read_text(encoding="utf-8")

    assert kept == written(), "make reference writes them anew"


def test_what_may_be_left_out_or_null_is_said_to_typescript() -> None:
    made = written()

    assert "export interface FieldError {\n  field: string;\n  message: string;\n  got?: unknown;\n" in made
    assert "  position?: [number, number] | null;\n" in made
    assert "  by_state: Partial<Record<RunState, number>>;\n" in made
    assert 'export type RunState = "queued" | "running" | ' in made


def test_a_policy_is_whole_in_an_answer_and_may_be_partial_in_a_request() -> None:
    types = written()

    assert "export interface CatchupSettings {\n  mode: CatchupMode;\n  window_seconds: number;\n" in types
    assert "  catchup: CatchupSettings;\n" in types
    assert "  catchup?: Partial<CatchupSettings> | null;\n" in types


def test_an_operation_names_its_parameters_body_and_answer() -> None:
    types = written()

    assert '    /** runs.get */\n    "/api/runs/{run_id}": { params: { run_id: string; }; answer: Run; };\n' in types
    assert '    "/api/schedules": { body: ScheduleRequest; answer: Schedule; };\n' in types
    assert '    "/api/schedules/ranking": { query?: { over?: RankingPeriod; limit?: number; }; ' in types
    assert '    "/api/schedules/health": { query: { ids: string; }; ' in types
    assert '    "/api/queues/{queue}/pause": { params: { queue: string; }; body?: PauseRequest; ' in types


def test_an_operation_without_json_has_no_answer_and_204_answers_undefined() -> None:
    types = written()

    assert '    "/api/runs/{run_id}/logs/raw": { params: { run_id: string; }; };\n' in types
    assert '    "/api/keys/{key_id}": { params: { key_id: string; }; answer: undefined; };\n' in types


def test_a_dry_run_has_an_answer_of_its_own() -> None:
    bulk = '"/api/bulk": { body: Omit<NewBulkAction, "dry_run">; answer: BulkAction; dryRun: BulkDryRun; };\n'

    assert bulk in written()


def test_every_operation_of_the_api_is_in_the_map() -> None:
    document = openapi()
    operations = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]

    assert operations
    assert [name for name in operations if written().count(f"    /** {name} */\n") != 1] == []


def test_nothing_from_outside_is_ever_drawn_as_html() -> None:
    sources = [path for pattern in ("*.ts", "*.tsx") for path in (UI / "src").rglob(pattern)]
    ways = ("dangerouslySetInnerHTML", ".innerHTML", "outerHTML", "insertAdjacentHTML", "document.write")

    assert sources
    assert [str(path) for path in sources if any(way in path.read_text(encoding="utf-8") for way in ways)] == []


def test_the_lock_file_names_no_host() -> None:
    lock = (UI / "package-lock.json").read_text(encoding="utf-8")

    assert "http://" not in lock
    assert "https://" not in lock
    assert '"resolved"' not in lock
