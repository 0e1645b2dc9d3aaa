"""DAGs of Airflow, read from the text of their Python files: tasks that run a shell command or a function."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from foliot.core.document import rfc3339
from foliot.core.time.zone import zone_info
from foliot.features.imports.model.apscheduler import RUN
from foliot.features.imports.model.cron_values import joined_by_or
from foliot.features.imports.model.imported import (
    LONGEST_RUN,
    Imported,
    UnknownTerm,
    UnreadableSource,
    changes_clocks,
    checked_zone,
)
from foliot.features.imports.model.python_source import PythonCall, PythonName, PythonSource

_PRESETS = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@quarterly": "0 0 1 */3 *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_TIMETABLES = frozenset({"CronTriggerTimetable", "CronDataIntervalTimetable"})
_NOTHING = frozenset({"EmptyOperator", "DummyOperator"})
_RULES = {"all_success": ("success", True), "all_done": ("any", True), "one_success": ("success", False)}
RETRY_DELAY = 300
"""Seconds before a retry of a task that names none."""
CLOCKS = (
    "at a clock change of {zone}, Airflow and Foliot differ: here a time that is skipped runs as the skipped hour "
    "ends, and one that comes twice runs once, unless it runs every hour or more often"
)


@dataclass(slots=True)
class AirflowTask:
    """One operator."""

    task_id: str
    call: PythonCall
    parents: list[str] = field(default_factory=list)
    """Names of variables, or ids of tasks."""


@dataclass(slots=True)
class AirflowDag:
    """A DAG, with the operators that belong to it, by the variable that holds each."""

    call: PythonCall
    tasks: dict[str, AirflowTask] = field(default_factory=dict)

    @property
    def dag_id(self) -> str:
        return str(self.call.options.get("dag_id") or next(iter(self.call.arguments), "dag"))


def read_airflow(files: Sequence[tuple[str, str]], zone: str | None = None) -> Imported:
    """Every DAG; `zone` is for those whose `start_date` names none, which otherwise are read in UTC."""
    imported = Imported("airflow")
    found = False
    for name, text in files:
        source = PythonSource.of(text, name)
        for title, node, body in _dags(source):
            found = True
            try:
                _add(imported, AirflowDag(source.call(node)), source, body, (name, zone))
            except UnknownTerm as unknown:
                imported.left_out(title, unknown)
    if not found:
        raise UnreadableSource("SOURCE: has no DAG; give the file or directory of your DAGs")
    return imported


def _dags(source: PythonSource) -> Iterator[tuple[str, ast.Call, Sequence[ast.stmt]]]:
    """Every DAG with the statements that may belong to it: the body of its `with`, or the whole file."""
    within = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.context_expr, ast.Call) and _name(item.context_expr) == "DAG":
                    within.add(item.context_expr)
                    yield _title(item.context_expr), item.context_expr, node.body
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and _name(decorator) == "dag":
                    yield node.name, decorator, []
    for call in source.calls("DAG"):
        if call not in within:
            yield _title(call), call, source.tree.body


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _title(call: ast.Call) -> str:
    named = [option.value for option in call.keywords if option.arg == "dag_id"]
    first = next(iter(named or call.args), None)
    return str(first.value) if isinstance(first, ast.Constant) else f"line {call.lineno}"


def _add(
    imported: Imported, dag: AirflowDag, source: PythonSource, body: Sequence[ast.stmt], given: tuple[str, str | None]
) -> None:
    file, zone = given
    if not body:
        raise UnknownTerm("the tasks of @dag have ids only when the file runs")
    _collect(dag, source, body)
    if not dag.tasks:
        raise UnknownTerm("has no operator that can be read")
    trigger = _trigger(dag, zone)
    defaults = dag.call.options.get("default_args")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    module = file.rpartition("/")[2].removesuffix(".py")
    real = {name: task for name, task in dag.tasks.items() if task.call.name not in _NOTHING}
    # Read before anything is added: a DAG is imported whole, or not at all.
    actions = {name: _action(imported, task, module) for name, task in real.items()}
    titles: dict[str, str] = {}
    for name in _in_order(dag, real):
        task = real[name]
        parents = _parents(dag, name)
        own = trigger if not parents else _follows(task, [titles[parent] for parent in parents])
        titles[name] = imported.add(
            dag.dag_id if len(real) == 1 else f"{dag.dag_id}.{task.task_id}",
            own,
            actions[name],
            description=f"Task {task.task_id} of the DAG {dag.dag_id}.",
            tags=[dag.dag_id[:64]] if len(real) > 1 else [],
            **_policies(dag, task, defaults, follows=bool(parents)),
        )
    if trigger["type"] == "cron" and changes_clocks(str(trigger["timezone"])):
        imported.note(CLOCKS.format(zone=trigger["timezone"]))
    imported.note("connections, variables, XComs and pools of Airflow do not carry over; runs in the past stay there")


def _collect(dag: AirflowDag, source: PythonSource, body: Sequence[ast.stmt]) -> None:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _is_operator(call):
                dag.tasks[name] = _task(source, call)
            case ast.Expr(value=ast.Call() as call) if _is_operator(call):
                task = _task(source, call)
                dag.tasks[task.task_id] = task
            case ast.Expr(value=ast.BinOp() as chain):
                _link(dag, chain)
            case ast.Expr(value=ast.Call() as call) if _name(call) in {"chain", "set_downstream", "set_upstream"}:
                _link_call(dag, call)
            case ast.For() | ast.While() | ast.If():
                raise UnknownTerm(f"line {statement.lineno}: its tasks are known only when the file runs")
            case ast.FunctionDef(decorator_list=decorators) if any("task" in ast.unparse(one) for one in decorators):
                raise UnknownTerm(f"line {statement.lineno}: functions with @task exchange values (XCom)")
            case _:
                continue


def _is_operator(call: ast.Call) -> bool:
    return _name(call).endswith(("Operator", "Sensor"))


def _task(source: PythonSource, node: ast.Call) -> AirflowTask:
    call = source.call(node)
    task_id = call.options.get("task_id")
    if not isinstance(task_id, str):
        raise UnknownTerm(f"line {node.lineno}: the id of a task is known only when the file runs")
    return AirflowTask(task_id, call)


def _link(dag: AirflowDag, chain: ast.BinOp) -> list[str]:
    """`a >> [b, c] >> d`, or with `<<`; returns what stands at the right end."""
    left = _link(dag, chain.left) if isinstance(chain.left, ast.BinOp) else _operands(dag, chain.left)
    right = _operands(dag, chain.right)
    before, after = (left, right) if isinstance(chain.op, ast.RShift) else (right, left)
    _connect(dag, before, after)
    return right


def _link_call(dag: AirflowDag, call: ast.Call) -> None:
    groups = [_operands(dag, each) for each in call.args]
    if isinstance(call.func, ast.Attribute) and _name(call) != "chain":
        groups.insert(0, _operands(dag, call.func.value))
    if _name(call) == "set_upstream":
        groups.reverse()
    for before, after in pairwise(groups):
        _connect(dag, before, after)


def _operands(dag: AirflowDag, node: ast.expr) -> list[str]:
    each = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    names = [one.id if isinstance(one, ast.Name) else ast.unparse(one)[:80] for one in each]
    for name in names:
        if name not in dag.tasks:
            raise UnknownTerm(f"line {node.lineno}: {name} is no task that can be read")
    return names


def _connect(dag: AirflowDag, before: Iterable[str], after: Iterable[str]) -> None:
    for child in after:
        dag.tasks[child].parents += [one for one in before if one not in dag.tasks[child].parents]


def _parents(dag: AirflowDag, name: str, seen: frozenset[str] = frozenset()) -> list[str]:
    """The tasks that do something, in place of empty ones."""
    if name in seen:
        raise UnknownTerm("its tasks form a ring")
    found: list[str] = []
    for parent in dag.tasks[name].parents:
        empty = dag.tasks[parent].call.name in _NOTHING
        found += _parents(dag, parent, seen | {name}) if empty else [parent]
    return list(dict.fromkeys(found))


def _in_order(dag: AirflowDag, real: Mapping[str, AirflowTask]) -> list[str]:
    """Parents before the tasks that follow them."""
    order: list[str] = []
    while len(order) < len(real):
        ready = [name for name in real if name not in order and set(_parents(dag, name)) <= set(order)]
        if not ready:
            raise UnknownTerm("its tasks form a ring")
        order += ready
    return order


def _follows(task: AirflowTask, parents: list[str]) -> dict[str, Any]:
    rule = str(task.call.options.get("trigger_rule", "all_success"))
    if rule not in _RULES:
        raise UnknownTerm(f"{task.task_id}: the trigger rule {rule} has no equivalent")
    outcome, every = _RULES[rule]
    every = every and len(parents) > 1
    return {"type": "after", "after": {"schedule": parents, "outcome": outcome, **({"all": True} if every else {})}}


def _action(imported: Imported, task: AirflowTask, module: str) -> dict[str, Any]:
    options = task.call.options
    match task.call.name:
        case "BashOperator":
            command = options.get("bash_command")
            if not isinstance(command, str) or "{{" in command or "{%" in command:
                raise UnknownTerm(f"{task.task_id}: its command is known only when Airflow fills it in")
            action: dict[str, Any] = {"kind": "command", "argv": [command], "shell": True}
            if isinstance(options.get("env"), Mapping):
                action["env"] = {str(name): str(value) for name, value in options["env"].items()}
            if isinstance(options.get("cwd"), str):
                action["cwd"] = options["cwd"]
            return action
        case "PythonOperator":
            function = options.get("python_callable")
            if not isinstance(function, PythonName):
                raise UnknownTerm(f"{task.task_id}: its function is known only when the file runs")
            dotted = function.dotted if "." in function.dotted else f"{module}.{function.dotted}"
            imported.note(
                "each Python task is a process of its own: set cwd and env.PYTHONPATH so that it finds your modules, "
                "or make its function a task (docs/how-to/tasks.md)"
            )
            try:
                given = json.dumps([list(options.get("op_args") or ()), dict(options.get("op_kwargs") or {})])
            except (TypeError, ValueError):
                raise UnknownTerm(f"{task.task_id}: its arguments are known only when the file runs") from None
            owner, _, name = dotted.rpartition(".")
            return {"kind": "command", "argv": ["python3", "-c", RUN, owner, name, given]}
        case operator:
            raise UnknownTerm(f"{task.task_id}: {operator} has no equivalent")


def _policies(dag: AirflowDag, task: AirflowTask, defaults: Mapping[str, Any], *, follows: bool) -> dict[str, Any]:
    options = {**defaults, **task.call.options}
    retries = options.get("retries", 0)
    delay, limit = options.get("retry_delay"), options.get("execution_timeout")
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else RETRY_DELAY
    policies: dict[str, Any] = {
        "retry_policy": {
            "strategy": "fixed",
            "max_retries": retries if isinstance(retries, int) else 0,
            "delay_seconds": max(int(seconds), 1),
            "max_delay_seconds": max(int(seconds), 1),
        },
        "timeout_seconds": int(limit.total_seconds()) if isinstance(limit, timedelta) else LONGEST_RUN,
    }
    if follows:
        return policies
    every = dag.call.options.get("catchup") is True
    return policies | {
        "overlap": "buffer_all" if dag.call.options.get("max_active_runs") == 1 else "allow_all",
        "catchup": {"mode": "all" if every else "latest", "window_seconds": 604_800 if every else 86_400},
    }


def _trigger(dag: AirflowDag, asked: str | None) -> dict[str, Any]:
    options = dag.call.options
    start, named = _start(options.get("start_date"), asked)
    wanted = options.get("schedule", options.get("schedule_interval", options.get("timetable")))
    if isinstance(wanted, PythonCall) and wanted.name in _TIMETABLES:
        if isinstance(own := wanted.options.get("timezone"), str):
            named = checked_zone(own)
        wanted = next(iter(wanted.arguments), wanted.options.get("cron"))
    given = {} if start is None else {"start_at": rfc3339(start)}
    match wanted:
        case timedelta():
            seconds = wanted.total_seconds()
            if seconds < 1 or not seconds.is_integer():
                raise UnknownTerm(f"every {seconds:g} s: an interval is a whole number of seconds, at least 1")
            return {"type": "interval", "interval_seconds": int(seconds), "timezone": named, **given}
        case str():
            fields = _PRESETS.get(wanted, wanted).split()
            if len(fields) != 5:
                raise UnknownTerm(f"the schedule {wanted!r} has no equivalent")
            return {"type": "cron", "cron_expr": joined_by_or(fields, last_weekday=7), "timezone": named, **given}
        case None:
            raise UnknownTerm("has no schedule: it runs only when it is triggered")
        case _:
            raise UnknownTerm("its schedule has no equivalent")


def _start(value: Any, asked: str | None) -> tuple[datetime | None, str]:
    """When it starts, and the zone that its schedule is read in: that of its start."""
    if isinstance(value, PythonCall) and value.name == "datetime":
        zone = value.options.get("tz", value.options.get("tzinfo"))
        zone = zone if isinstance(zone, str) else None
        named = checked_zone(zone or asked or "UTC")
        try:
            return datetime(*value.arguments).replace(tzinfo=zone_info(named)).astimezone(UTC), named
        except (TypeError, ValueError):
            return None, named
    named = checked_zone(asked or "UTC")
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or zone_info(named)).astimezone(UTC), named
    return None, named
