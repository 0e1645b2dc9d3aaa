"""Tasks: what the decorator notes, which parameters are taken, how modules are loaded, how a call ends."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import foliot
from foliot import plugins
from foliot.cluster.page_reader import AttemptInfo
from foliot.core.errors import Invalid, InvalidMany, Unavailable
from foliot.features.tasks.model.task import MARK, TaskCatalogue
from foliot.features.tasks.run.call import LARGEST, call, call_async
from foliot.features.tasks.wiring import load, tasks_in
from foliot.tasks import GiveUp, Partial, Retry, Task, TaskContext, task
from tests.taskbook import run_task

ATTEMPT = AttemptInfo(run_id="run_1", tenant_id="acme", schedule_id=None, attempt=2, max_attempts=4, scheduled_for=None)


@dataclass
class Heard:
    """What a task said."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)

    def log(self, message: str, level: str) -> None:
        self.lines.append((level, message))

    def progress(self, data: Mapping[str, Any]) -> None:
        self.steps.append(data)


def noted(function: Any) -> Task:
    made: Task = getattr(function, MARK)
    return made


def known(*functions: Any) -> TaskCatalogue:
    made = TaskCatalogue()
    for function in functions:
        made.add(noted(function))
    return made


def context(heard: Heard | None = None) -> TaskContext:
    return TaskContext.of("greet", ATTEMPT, heard or Heard())


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Parcel(BaseModel):
    weight: Annotated[float, Field(gt=0)]
    to: str = "nobody"


# --- the decorator ----------------------------------------------------------------------------------------------------


def test_a_decorated_function_is_still_the_function() -> None:
    @task("double", queue="sums", retries=5)
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == 8
    assert noted(double).name == "double"
    assert noted(double).defaults() == {"queue": "sums", "retry_policy": {"max_retries": 5}}


def test_without_a_name_a_task_has_that_of_its_function() -> None:
    @task
    def bare() -> None: ...

    @task(retries=0)
    def called() -> None: ...

    assert (noted(bare).name, noted(called).name) == ("bare", "called")


def test_foliot_gives_the_decorator_to_whoever_asks() -> None:
    assert foliot.task is task
    assert foliot.TaskContext is TaskContext
    with pytest.raises(AttributeError, match="has no attribute 'tusk'"):
        _ = foliot.tusk


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"queue": "no spaces"}, "queue: must be"),
        ({"retries": 101}, "retries: must be"),
        ({"timeout": 0}, "timeout: must be"),
        ({"parameters": {"x": 1}}, "give schedule="),
        ({"tenants": []}, "tenants: must be 'all' or"),
        ({"tenants": ["acme", " "]}, "tenants: must be 'all' or"),
        ({"tenants": 5}, "tenants: must be 'all' or"),
        ({"tenants": ["acme"], "schedule": "0 * * * *"}, "which tenants= excludes"),
    ],
)
def test_what_a_decorator_may_not_say(said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        task("x", **said)


@pytest.mark.parametrize(
    ("said", "inside", "outside"),
    [
        ({}, ["default"], ["acme", "all", ""]),
        ({"tenants": ["acme", "beta"]}, ["acme", "beta"], ["default", "gamma"]),
        ({"tenants": "acme"}, ["acme"], ["default"]),
        ({"tenants": "all"}, ["default", "acme"], []),
        ({"tenants": ["all"]}, ["default", "acme"], []),
    ],
)
def test_a_task_belongs_to_the_operators_own_tenant_unless_it_says_otherwise(
    said: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    @task("x", **said)
    def function() -> None: ...

    tenants = noted(function).tenants
    assert [one for one in [*inside, *outside] if one in tenants] == inside


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="its name must be"):

        @task("no spaces")
        def _spaced() -> None: ...


def test_an_async_function_does_not_go_into_a_process() -> None:
    with pytest.raises(ValueError, match="cpu=True is for plain functions"):

        @task(cpu=True)
        async def _heavy() -> None: ...


@pytest.mark.parametrize(
    ("said", "trigger"),
    [
        ("30 14 * * *", {"type": "cron", "cron_expr": "30 14 * * *", "timezone": "Europe/Stockholm"}),
        ("every 15m", {"type": "interval", "interval_seconds": 900, "timezone": "Europe/Stockholm"}),
        (
            {"type": "cron", "cron_expr": "@daily", "timezone": "UTC"},
            {"type": "cron", "cron_expr": "@daily", "timezone": "UTC"},
        ),
    ],
)
def test_a_schedule_is_declared_beside_the_function(said: Any, trigger: dict[str, Any]) -> None:
    @task("my_custom_task", schedule=said, timezone="Europe/Stockholm", parameters={"param1": "value", "param2": 42})
    async def my_custom_task(param1: str, param2: int) -> None:
        """Custom task implementation."""

    assert noted(my_custom_task).document() == {
        "name": "my_custom_task",
        "description": "Custom task implementation.",
        **trigger,
        "action": {"kind": "task", "task": "my_custom_task", "parameters": {"param1": "value", "param2": 42}},
    }


# --- parameters -------------------------------------------------------------------------------------------------------


@task("many")
def many(
    ctx: TaskContext,
    whole: int,
    *,
    size: Size = Size.SMALL,
    parcels: list[Parcel] = [],  # noqa: B006
    day: date | None = None,
    colour: Literal["red", "blue"] = "red",
    schema: str = "a word that models use",
    **rest: Any,
) -> dict[str, Any]:
    return {"whole": whole, "size": size, "parcels": parcels, "day": day, "schema": schema, "rest": rest}


def test_parameters_come_as_their_types() -> None:
    given = {"whole": "4", "size": "large", "parcels": [{"weight": 1}], "day": "2027-01-04", "schema": "s", "more": [1]}

    read = noted(many).signature.read(given)

    assert read["whole"] == 4
    assert read["size"] is Size.LARGE
    assert read["parcels"] == [Parcel(weight=1)]
    assert read["day"] == date(2027, 1, 4)
    assert (read["schema"], read["more"]) == ("s", [1])
    assert "colour" not in read, "what is left out keeps the function's own default"


@pytest.mark.parametrize(
    ("given", "field_", "message"),
    [
        ({}, "whole", "is required"),
        ({"whole": "four"}, "whole", "valid integer"),
        ({"whole": 1.5}, "whole", "valid integer"),
        ({"whole": 1, "size": "huge"}, "size", "'small' or 'large'"),
        ({"whole": 1, "parcels": [{"weight": 1}, {"weight": 0}]}, "parcels.1.weight", "greater than 0"),
        ({"whole": 1, "colour": "green"}, "colour", "'red' or 'blue'"),
    ],
)
def test_each_wrong_parameter_is_named(given: dict[str, Any], field_: str, message: str) -> None:
    with pytest.raises(InvalidMany) as caught:
        noted(many).signature.read(given)

    (complaint,) = caught.value.errors
    assert complaint.field == field_
    assert message in complaint.message


def test_unknown_parameters_are_refused_with_those_there_are() -> None:
    @task
    def few(ctx: TaskContext, width: int, height: int = 1) -> None: ...

    with pytest.raises(Invalid) as caught:
        noted(few).signature.read({"width": 1, "heigth": 2})

    assert caught.value.field == "heigth"
    assert caught.value.message == "is not a parameter of this task; known are height, width"


def test_the_context_is_no_parameter_whether_annotated_or_not() -> None:
    @task
    def bare(ctx, x: int):  # type: ignore[no-untyped-def]
        return ctx.run_id, x

    @task
    def optional(x: int, about: TaskContext | None = None) -> str:
        return "" if about is None else about.run_id

    assert set(noted(bare).signature.own) == {"x"}
    assert call(noted(bare), {"x": 1}, context()).result == ["run_1", 1]
    assert call(noted(optional), {"x": 1}, context()).result == "run_1"


def test_what_cannot_be_given_by_name_is_no_task() -> None:
    @task
    def positional(*files: str) -> None: ...

    with pytest.raises(TypeError, match="cannot be passed by name"):
        known(positional)


def test_the_action_checks_and_keeps_what_was_given() -> None:
    action = run_task(known(many))

    assert action.check({"task": "many", "parameters": {"whole": 4}}) == {"task": "many", "parameters": {"whole": 4}}
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({}, "task", "is required"),
        ({"task": 5}, "task", "must be the name"),
        ({"task": "manny"}, "task", "did you mean 'many'?"),
        ({"task": "many", "parameters": {"whole": "x"}}, "parameters.whole", "valid integer"),
        ({"task": "many", "parameters": [1]}, "parameters", "must be an object"),
        ({"task": "many", "params": {}}, "params", "did you mean 'parameters'?"),
        ({"task": "many", "parameters": {"whole": 1, "size": "a\x00"}}, "parameters", "U+0000"),
    ]
    for config, field_, message in wrong:
        with pytest.raises(Invalid) as caught:
            action.check(config)
        assert (caught.value.field, message in caught.value.message) == (field_, True), caught.value


# --- loading ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_broken_module_is_named_with_its_line_and_spoils_no_other(folder: Path) -> None:
    (folder / "good_tasks.py").write_text("from foliot import task\n@task\ndef fine(x: int): return x\n")
    (folder / "raising_tasks.py").write_text("import os\n\n\ndef broken():\n    return 1 / 0\n\nbroken()\n")
    (folder / "unclosed_tasks.py").write_text("x = 1\ny = (\n")
    (folder / "leaving_tasks.py").write_text("raise SystemExit(3)\n")
    (folder / "odd_tasks.py").write_text("from foliot import task\n\n@task\ndef odd(x: 'Nowhere'): return x\n")
    modules = ["raising_tasks", "unclosed_tasks", "good_tasks", "missing_tasks", "leaving_tasks", "odd_tasks"]

    found = load(modules)

    assert found.names() == ["fine"]
    faults = found.faults()
    assert faults[0] == (
        "FOLIOT_TASKS: module raising_tasks cannot be loaded: "
        "raising_tasks.py, line 5: ZeroDivisionError: division by zero"
    )
    assert "module unclosed_tasks cannot be loaded: unclosed_tasks.py, line 2: SyntaxError" in faults[1]
    assert "module missing_tasks cannot be loaded: ModuleNotFoundError: No module named 'missing_tasks'" in faults[2]
    assert "module leaving_tasks cannot be loaded: leaving_tasks.py, line 1: SystemExit: 3" in faults[3]
    assert "module odd_tasks" in faults[4]
    assert "line 3" in faults[4]
    assert "Nowhere" in faults[4]


def test_two_functions_of_one_name_are_a_fault_and_one_met_twice_is_none(folder: Path) -> None:
    (folder / "first_tasks.py").write_text("from foliot import task\n@task('same')\ndef one(): pass\n")
    (folder / "second_tasks.py").write_text(
        "from foliot import task\nfrom first_tasks import one\n@task('same')\ndef two(): pass\n"
    )

    found = load(["first_tasks", "second_tasks"])

    assert found.names() == ["same"]
    (fault,) = found.faults()
    assert "task same: another task has this name, in first_tasks" in fault


def test_a_module_without_a_task_is_a_fault(folder: Path) -> None:
    (folder / "empty_tasks.py").write_text("x = 1\n")

    assert load(["empty_tasks"]).faults() == ("FOLIOT_TASKS: module empty_tasks has no task: a function with @task",)


def test_packages_bring_tasks_by_entry_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "packed_tasks.py").write_text("from foliot import task\n@task(tenants=['shop'])\ndef packed(): pass\n")
    monkeypatch.syspath_prepend(folder)
    points = [EntryPoint("packed", "packed_tasks", "foliot.tasks"), EntryPoint("gone", "no_such:one", "foliot.tasks")]
    monkeypatch.setattr(plugins, "points", lambda group: points if group == "foliot.tasks" else [])

    found = load([])

    assert (found.names("shop"), found.names("other")) == (["packed"], [])
    assert found.faults()[0].startswith("entry point gone (no_such:one) of foliot.tasks cannot be loaded: ")


def test_what_is_installed_is_found_before_what_lies_around(folder: Path) -> None:
    (folder / "json.py").write_text("raise RuntimeError('not this one')\n")
    (folder / "plain_tasks.py").write_text(
        "import json\nfrom foliot import task\n@task\ndef fine(): return json.dumps(1)\n"
    )

    assert load(["plain_tasks"]).faults() == ()


def test_only_marked_functions_are_tasks() -> None:
    assert [one.name for one in tasks_in(sys.modules[__name__])] == ["many"]


# --- how a call ends --------------------------------------------------------------------------------------------------


def test_a_logger_of_its_own_writes_into_the_log_of_the_run() -> None:
    @task
    def said(ctx: TaskContext) -> None:
        ctx.logger.debug("small")
        ctx.logger.warning("a %s of %d", "pair", 2)
        try:
            int("x")
        except ValueError:
            ctx.logger.exception("it broke")
        ctx.progress(done=1, total=2)

    heard = Heard()
    assert call(noted(said), {}, context(heard)).error is None
    assert heard.lines[:2] == [("debug", "small"), ("warning", "a pair of 2")]
    assert heard.lines[2][0] == "error"
    assert heard.lines[2][1].startswith("it broke\nTraceback")
    assert heard.steps == [{"done": 1, "total": 2}]


@pytest.mark.parametrize(
    ("raised", "error", "retry_after", "permanent"),
    [
        (Retry(60), "requested a retry", 60.0, False),
        (Retry(timedelta(minutes=2), "later"), "later", 120.0, False),
        (Retry(), "requested a retry", None, False),
        (GiveUp("never"), "never", None, True),
        (ValueError("bad"), "ValueError: bad", None, False),
        (ExceptionGroup("several", [KeyError("first"), ValueError("second")]), "KeyError: 'first'", None, False),
        (Unavailable("postgresql://user:pw@host", told="it is away"), "it is away", None, False),
    ],
    ids=["seconds", "delta", "policy", "never", "surprise", "group", "away"],
)
def test_how_an_exception_ends_an_attempt(
    raised: Exception, error: str, retry_after: float | None, permanent: bool
) -> None:
    @task
    def fails() -> None:
        raise raised

    told = call(noted(fails), {}, context())

    assert (told.error, told.retry_after, told.permanent) == (error, retry_after, permanent)
    assert "pw@host" not in told.trace


async def test_the_context_asks_for_the_same_by_name() -> None:
    @task
    async def again(ctx: TaskContext) -> None:
        ctx.retry(after=60)

    @task
    async def never(ctx: TaskContext) -> None:
        ctx.give_up("no")

    assert (await call_async(noted(again), {}, context())).retry_after == 60
    assert (await call_async(noted(never), {}, context())).permanent


def test_a_result_is_plain_json() -> None:
    @task
    def all_sorts() -> Any:
        at = datetime(2027, 1, 4, 12, tzinfo=UTC)
        return {
            "d": Decimal("1.50"),
            "at": at,
            "set": {"b", "a"},
            "parcel": Parcel(weight=1),
            Size.SMALL: 1,
            5: "x\x00",
        }

    assert call(noted(all_sorts), {}, context()).result == {
        "d": "1.50",
        "at": "2027-01-04T12:00:00+00:00",
        "set": ["a", "b"],
        "parcel": {"weight": 1.0, "to": "nobody"},
        "small": 1,
        "5": "x\ufffd",
    }


def test_a_result_that_is_no_json_is_a_failure_for_good() -> None:
    @task
    def odd() -> Any:
        return {"x": object()}

    told = call(noted(odd), {}, context())

    assert told.permanent
    assert (told.error or "").startswith("the task's result cannot be written as JSON: ")


def test_a_large_result_is_cut_and_says_so() -> None:
    @task
    def large() -> str:
        return "x" * LARGEST

    heard = Heard()
    made = call(noted(large), {}, context(heard)).result

    assert made["truncated"] is True
    assert made["bytes"] == LARGEST + 2
    assert len(made["start"]) < 4096
    assert heard.lines[0][0] == "warning"


def test_a_part_that_failed_makes_a_partial_run() -> None:
    @task
    def some() -> Partial:
        return Partial({"failed": 1})

    told = call(noted(some), {}, context())

    assert (told.partial, told.result) == (True, {"failed": 1})


def test_what_a_decorator_refuses_is_told_by_the_line_of_the_module(folder: Path) -> None:
    (folder / "refused_tasks.py").write_text("from foliot import task\n\n@task(retries=-1)\ndef one(): pass\n")

    (fault,) = load(["refused_tasks"]).faults()

    assert "refused_tasks.py, line 3: ValueError: retries: must be a whole number from 0 to 100, got -1" in fault


def test_the_functions_of_the_page_are_those_of_the_example() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "how-to" / "tasks.md").read_text()
    example = (root / "examples" / "tasks.py").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    assert len(blocks) == 3
    for block in blocks:
        assert block.removeprefix("from foliot import TaskContext, task\n\n\n") in example


# --- the example ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/proc/self/environ", "../secret.txt", "link.txt"])
def test_the_example_reads_nothing_outside_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "report.txt").write_text("one\ntwo\n")
    (tmp_path / "secret.txt").write_text("hidden\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setenv("REPORTS", str(folder))
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "tasks.py"))["import_report"]

    assert example(ctx=context(), path=Path("report.txt")) == {"lines": 2, "attempts": 2}
    with pytest.raises(GiveUp, match="folder of reports"):
        example(ctx=context(), path=Path(path))
