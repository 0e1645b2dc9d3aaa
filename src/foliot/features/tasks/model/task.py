"""The decorator `@task`, and what it records about a function. The function is not wrapped: tests call it directly.

The registry of one process's tasks, by name. It is no global: two catalogues can exist in one program.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from foliot.core.access import KEEPER, OPERATORS_OWN, TenantAllowList
from foliot.core.document import MOST_COMPLAINTS
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.queue_name import RULE, is_queue
from foliot.engine.model.outcome import MAX_DELAY, MAX_RETRIES
from foliot.engine.model.schedule import MAX_TIMEOUT
from foliot.features.tasks.model.context import TaskContext
from foliot.plugins import Plugin, PluginCatalogue

CONTEXT_NAME = "ctx"


@dataclass(frozen=True)
class Signature:
    """The parameters of one function."""

    function: Callable[..., Any]

    @cached_property
    def hints(self) -> dict[str, Any]:
        return typing.get_type_hints(inspect.unwrap(self.function), include_extras=True)

    @cached_property
    def all(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @cached_property
    def context(self) -> str | None:
        """The parameter that receives the context: the one annotated `TaskContext`, or an unannotated `ctx`."""
        for name, parameter in self.all.items():
            hint = self.hints.get(name)
            if hint is TaskContext or TaskContext in typing.get_args(hint):
                return name
            if name == CONTEXT_NAME and parameter.annotation is inspect.Parameter.empty:
                return name
        return None

    @cached_property
    def own(self) -> dict[str, inspect.Parameter]:
        """The parameters that a schedule gives values for."""
        return {name: parameter for name, parameter in self.all.items() if name != self.context}

    @cached_property
    def model(self) -> type[BaseModel]:
        """A pydantic model of them. Its fields have generated names: a parameter's may be one of BaseModel's."""
        fields: dict[str, Any] = {}
        extra: typing.Literal["allow", "forbid"] = "forbid"
        for at, (name, parameter) in enumerate(self.own.items()):
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = "allow"
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise TypeError(f"{parameter} cannot be passed by name, as task parameters are")
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[f"p{at}"] = (self.hints.get(name, Any), Field(default, alias=name, title=name))
        model: type[BaseModel] = create_model(
            "Parameters",
            __config__=ConfigDict(extra=extra, arbitrary_types_allowed=False, validate_default=False),
            **fields,
        )
        return model

    def check(self) -> None:
        """`TypeError` when the function cannot be a task."""
        try:
            self.schema()
        except (PydanticUserError, NameError) as wrong:
            raise TypeError(f"its parameters cannot be read: {str(wrong).splitlines()[0]}") from None

    def schema(self) -> dict[str, Any]:
        """The parameters as JSON Schema."""
        schema = self.model.model_json_schema(mode="validation")
        schema.pop("title", None)
        return schema

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call it with; `Invalid` names each parameter that breaks a rule."""
        try:
            read = self.model.model_validate(dict(given))
        except ValidationError as wrong:
            raise _complaint(wrong, sorted(self.own)) from None
        values = {field.alias or name: getattr(read, name) for name, field in type(read).model_fields.items()}
        # An omitted parameter keeps the function's own default, the same object.
        left_out = {field.alias or name for name, field in type(read).model_fields.items()} - set(given)
        return {name: value for name, value in values.items() if name not in left_out} | dict(read.model_extra or {})


def _complaint(wrong: ValidationError, known: list[str]) -> Invalid:
    listed = f"known are {', '.join(known)}" if known else "this task takes none"
    return InvalidMany(
        Invalid(
            ".".join(str(part) for part in one["loc"])[:200],
            f"is not a parameter of this task; {listed}" if one["type"] == "extra_forbidden" else _said(one["msg"]),
            got=None if one["type"] == "missing" else _shown(one["input"]),
        )
        for one in wrong.errors(include_url=False, include_context=False)[:MOST_COMPLAINTS]
    )


def _said(message: str) -> str:
    """Pydantic's message, rephrased to follow the name of the field."""
    return "is required" if message == "Field required" else message[:1].lower() + message[1:]


def _shown(got: object) -> object:
    return got if isinstance(got, bool | int | float | None) else str(got)[:100]


F = TypeVar("F", bound=Callable[..., Any])

MARK = "__foliot_task__"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")
NAME_RULE = "must be 1 to 100 letters, digits, '_', '.', ':' or '-'"


@dataclass(frozen=True, kw_only=True)
class Task:
    """A function that a schedule can run by name."""

    name: str
    function: Callable[..., Any]
    queue: str | None = None
    """The queue of its runs, unless a schedule names another."""
    retries: int | None = None
    retry_delay: float | None = None
    timeout: timedelta | None = None
    cpu: bool = False
    """Runs in a process of its own: for CPU-bound functions, which would block this one."""
    tenants: TenantAllowList = OPERATORS_OWN
    """Which tenants may see and run it: the operator's own, unless its code says otherwise."""
    built_in: bool = False
    schedule: Mapping[str, Any] | None = None
    """The schedule that its code declares: the fields of the creating request, without its action."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of that schedule."""

    @property
    def module(self) -> str:
        return str(getattr(inspect.unwrap(self.function), "__module__", ""))

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @property
    def signature(self) -> Signature:
        return Signature(self.function)

    def defaults(self) -> dict[str, Any]:
        """Defaults for a schedule of this task."""
        defaults: dict[str, Any] = {}
        if self.queue is not None:
            defaults["queue"] = self.queue
        retry = {"max_retries": self.retries, "delay_seconds": self.retry_delay}
        if policy := {name: value for name, value in retry.items() if value is not None}:
            defaults["retry_policy"] = policy
        if self.timeout is not None:
            defaults["timeout_seconds"] = int(self.timeout.total_seconds())
        return defaults

    def document(self) -> dict[str, Any] | None:
        """The request that creates the schedule its code declares."""
        if self.schedule is None:
            return None
        action = {"kind": "task", "task": self.name, "parameters": dict(self.parameters)}
        return {"name": self.name, "description": self.description, **self.schedule, "action": action}


@overload
def task(name: F, /) -> F: ...


@overload
def task(
    name: str | None = None,
    /,
    *,
    queue: str | None = None,
    retries: int | None = None,
    retry_delay: float | None = None,
    timeout: timedelta | float | None = None,
    cpu: bool = False,
    tenants: str | Iterable[str] | None = None,
    schedule: str | Mapping[str, Any] | None = None,
    timezone: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...


def task(  # noqa: PLR0913 -- a decorator has as many arguments as options
    name: Any = None,
    /,
    *,
    queue: str | None = None,
    retries: int | None = None,
    retry_delay: float | None = None,
    timeout: timedelta | float | None = None,
    cpu: bool = False,
    tenants: str | Iterable[str] | None = None,
    schedule: str | Mapping[str, Any] | None = None,
    timezone: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Any:
    """Make a function a task.

    `tenants` lists the tenants that may see and run it, or is "all"; the default is the operator's own, `default`.
    `schedule` declares when it runs: a cron expression, `every 15m`, or the fields of a schedule's document;
    `parameters` are the arguments of its runs.
    """
    if callable(name):
        return _mark(name, Task(name=_name(name.__name__), function=name))
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    _refuse(queue, retries, retry_delay, seconds)
    if parameters and schedule is None:
        raise ValueError("parameters: belong to a declared schedule; give schedule= as well")
    allowed = _tenants(tenants)
    if schedule is not None and KEEPER not in allowed:
        raise ValueError(f"schedule: is created for the tenant {KEEPER}, which tenants= excludes")

    def mark(function: F) -> F:
        made = Task(
            name=_name(name or function.__name__),
            function=function,
            queue=queue,
            retries=retries,
            retry_delay=retry_delay,
            timeout=None if seconds is None else timedelta(seconds=seconds),
            cpu=cpu,
            tenants=allowed,
            schedule=None if schedule is None else document_of(schedule, timezone),
            parameters=dict(parameters or {}),
        )
        if cpu and made.is_async:
            raise ValueError(f"task {made.name}: cpu=True is for plain functions, and {function.__name__} is async")
        return _mark(function, made)

    return mark


def _mark(function: F, made: Task) -> F:
    setattr(function, MARK, made)
    return function


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"task {name!r}: its name {NAME_RULE}")
    return name


def _tenants(said: str | Iterable[str] | None) -> TenantAllowList:
    try:
        return OPERATORS_OWN if said is None else TenantAllowList.of(said)
    except (TypeError, ValueError):
        raise ValueError(f"tenants: must be 'all' or a list of tenants' names, got {said!r}") from None


def _refuse(queue: str | None, retries: int | None, delay: float | None, seconds: float | None) -> None:
    if queue is not None and not is_queue(queue):
        raise ValueError(f"queue: {RULE}, got {queue!r}")
    if retries is not None and not 0 <= retries <= MAX_RETRIES:
        raise ValueError(f"retries: must be a whole number from 0 to {MAX_RETRIES}, got {retries!r}")
    if delay is not None and not 0 <= delay <= MAX_DELAY:
        raise ValueError(f"retry_delay: must be from 0 to {MAX_DELAY:.0f} seconds, got {delay!r}")
    if seconds is not None and not 1 <= seconds <= MAX_TIMEOUT:
        raise ValueError(f"timeout: must be from 1 to {MAX_TIMEOUT} seconds, got {seconds!r}")


_EVERY = re.compile(r"every (\d+) ?(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def document_of(schedule: str | Mapping[str, Any], timezone: str | None) -> dict[str, Any]:
    zone = {} if timezone is None else {"timezone": timezone}
    if not isinstance(schedule, str):
        return {**zone, **schedule}
    if found := _EVERY.fullmatch(schedule.strip()):
        return {"type": "interval", "interval_seconds": int(found[1]) * _SECONDS[found[2]], **zone}
    return {"type": "cron", "cron_expr": schedule, **zone}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task as the API shows it."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: TenantAllowList
    """Which tenants may see and run it."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    retries: int | None
    timeout_seconds: int | None
    schedule: Mapping[str, Any] | None
    """The schedule that its code declares, as the request that creates it."""
    parameters: Mapping[str, Any]
    """Its parameters, as JSON Schema."""


@dataclass(slots=True)
class TaskCatalogue(PluginCatalogue[Task]):
    """Every task that this process has loaded, and the modules that failed to load."""

    noun: ClassVar = "task"
    setting: ClassVar = "FOLIOT_TASKS"
    group: ClassVar = "foliot.tasks"
    wanted: ClassVar = "a function with @task"

    def add(self, task: Task) -> None:
        """`TypeError` or `ValueError` when the function cannot be a task."""
        known = self.get(task.name)
        if known is not None and known.function is task.function:
            return
        if known is None and not task.built_in:
            # Built-in tasks are checked by our tests; building their pydantic models would slow every start.
            task.signature.check()
        self.register(
            Plugin(made=task, name=task.name, module=task.module, built_in=task.built_in, tenants=task.tenants)
        )

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        """The tasks that this tenant may run, by name."""
        return [_view(plugin.made) for plugin in self.plugins(tenant_id).values()]

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        """None also when it belongs to another tenant."""
        task = self.get(name, tenant_id)
        return None if task is None else _view(task)


def _view(task: Task) -> TaskView:
    defaults = task.defaults()
    return TaskView(
        name=task.name,
        description=task.description,
        module=task.module,
        built_in=task.built_in,
        tenants=task.tenants,
        cpu=task.cpu,
        queue=task.queue,
        retries=task.retries,
        timeout_seconds=defaults.get("timeout_seconds"),
        schedule=task.document(),
        parameters=task.signature.schema(),
    )
