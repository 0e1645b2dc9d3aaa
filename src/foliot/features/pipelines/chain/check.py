"""The catalogue of transforms by name (an allow-list), and the steps of a definition, validated and built from it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ValidationError
from pydantic.errors import PydanticUserError

from foliot.core.document import MOST_COMPLAINTS
from foliot.core.errors import Invalid, InvalidMany
from foliot.features.pipelines.chain.context import SecretRef, Transform
from foliot.features.pipelines.model import StepSpec
from foliot.plugins import Plugin, PluginCatalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformView:
    """A transform as the API shows it."""

    name: str
    """The shortest unambiguous name."""
    description: str
    module: str
    built_in: bool
    kwargs: dict[str, Any]
    """Its parameters, as a JSON Schema."""


@dataclass(slots=True)
class TransformCatalogue(PluginCatalogue[type[Transform]]):
    """Every transform of this process, and what could not be loaded."""

    noun: ClassVar = "transform"
    setting: ClassVar = "FOLIOT_TRANSFORMS"
    group: ClassVar = "foliot.transforms"
    wanted: ClassVar = "a class that derives from foliot.Transform"

    def add(self, transform: type[Transform], *names: str, built_in: bool = False) -> None:
        """Registers a transform under its dotted name and these. `TypeError` or `ValueError` when it is invalid."""
        _check(transform)
        if not built_in:
            # Built-in ones are checked by tests; building their models would slow every start.
            _check_kwargs(transform)
        own = _dotted(transform)
        self.register(
            Plugin(
                made=transform,
                name=own,
                module=transform.__module__,
                aliases=(*transform.aliases, *names),
                short=transform.__name__,
                built_in=built_in,
            )
        )

    def name_of(self, transform: type[Transform]) -> str:
        """Its shortest unambiguous name."""
        plugin = self.plugin(_dotted(transform))
        return _dotted(transform) if plugin is None else self.shortest(plugin)

    def views(self) -> Sequence[TransformView]:
        """All transforms, sorted by name."""
        return [_view(name, plugin) for name, plugin in self.plugins().items()]


def _dotted(transform: type[Transform]) -> str:
    return f"{transform.__module__}.{transform.__qualname__}"


def _view(name: str, plugin: Plugin[type[Transform]]) -> TransformView:
    schema = plugin.made.model_json_schema(mode="validation")
    for said in ("title", "description"):
        schema.pop(said, None)
    text = inspect.cleandoc(plugin.made.__doc__ or "").partition("\n\n")[0]
    return TransformView(
        name=name,
        description=" ".join(text.split()),
        module=plugin.module,
        built_in=plugin.built_in,
        kwargs=schema,
    )


def _check(transform: type[Transform]) -> None:
    if transform.run is Transform.run and transform.handle is Transform.handle:
        raise TypeError("has neither `async def run` nor `async def handle`")
    if transform.run is not Transform.run and not _streams(transform.run):
        raise TypeError("its run must be an async generator: `async def run(self, items, ctx)` with a yield in it")
    if transform.handle is not Transform.handle and not inspect.iscoroutinefunction(transform.handle):
        raise TypeError("its handle must be a coroutine: `async def handle(self, item, ctx)`")


def _check_kwargs(transform: type[Transform]) -> None:
    try:
        transform.model_rebuild()
        transform.model_json_schema(mode="validation")
    except (PydanticUserError, NameError) as wrong:
        raise TypeError(f"its kwargs cannot be read: {str(wrong).splitlines()[0]}") from None


def _streams(run: Any) -> bool:
    return inspect.isasyncgenfunction(run) or not (inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run))


HIDDEN = "***"
MOST_STEPS = 100
_BRANCH = re.compile(r"str|int|float|bool|none|text|reference|list\[.*\]|function-.*|constrained-.*")


def check_steps(steps: Sequence[StepSpec], catalogue: TransformCatalogue) -> None:
    """Raises `InvalidMany`, whose fields are paths such as `chain[1].kwargs.urls`."""
    build_steps(steps, catalogue)


def build_steps(steps: Sequence[StepSpec], catalogue: TransformCatalogue) -> list[Transform]:
    """The transforms of a chain, each with its kwargs; raises as `check_steps` does."""
    if not 0 < len(steps) <= MOST_STEPS:
        raise InvalidMany([Invalid("chain", f"must have from 1 to {MOST_STEPS} steps", got=len(steps))])
    made: list[Transform] = []
    wrong: list[Invalid] = []
    for at, spec in enumerate(steps):
        try:
            made.append(_build(spec, catalogue))
        except _StepError as told:
            wrong += [Invalid(f"chain[{at}].{one.field}", one.message, got=one.got) for one in told.errors]
    if wrong:
        raise InvalidMany(wrong[:MOST_COMPLAINTS])
    return made


def shown(spec: StepSpec, catalogue: TransformCatalogue) -> dict[str, Any]:
    """The kwargs of a step for display: literal values that may be secrets are masked."""
    if catalogue.get(spec.cls) is None:
        return dict.fromkeys(spec.kwargs, HIDDEN)
    return {
        name: _hidden(value) if confides(spec.cls, name, catalogue) else value for name, value in spec.kwargs.items()
    }


def confides(cls: str, name: str, catalogue: TransformCatalogue) -> bool:
    """Whether this parameter of a step may hold a secret; of an unknown transform, every parameter may."""
    known = catalogue.get(cls)
    if known is None or name not in known.model_fields:
        return True
    return _confides(known.model_fields[name].annotation)


class _StepError(Exception):
    """The errors of one step."""

    def __init__(self, *errors: Invalid) -> None:
        super().__init__(len(errors))
        self.errors = errors


def _build(spec: StepSpec, catalogue: TransformCatalogue) -> Transform:
    known = catalogue.get(spec.cls)
    if known is None:
        raise _StepError(Invalid("class", _unknown(spec.cls, catalogue), got=spec.cls[:200]))
    try:
        return known.model_validate(dict(spec.kwargs))
    except ValidationError as wrong:
        raise _StepError(*_complaints(wrong, known)) from None
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as wrong:
        # A validator of a third-party transform may raise any of these.
        raise _StepError(Invalid("kwargs", f"cannot be read: {type(wrong).__name__}: {wrong}"[:500])) from None


def _unknown(name: str, catalogue: TransformCatalogue) -> str:
    close = catalogue.suggestion(name)
    hint = f"did you mean {close!r}? Known are" if close else "known are"
    return (
        f"is not a registered transform; {hint} {', '.join(catalogue.names())}, and those of modules that "
        "FOLIOT_TRANSFORMS names"
    )


def _complaints(wrong: ValidationError, known: type[Transform]) -> Iterator[Invalid]:
    fields = sorted(known.model_fields)
    listed = f"known are {', '.join(fields)}" if fields else "it takes none"
    seen: set[str] = set()
    for one in wrong.errors(include_url=False, include_context=False, include_input=False)[:MOST_COMPLAINTS]:
        place = "kwargs" + "".join(_part(part) for part in one["loc"] if not _noise(part, known))
        if place in seen:
            continue
        seen.add(place)
        if one["type"] == "extra_forbidden" and len(one["loc"]) == 1:
            yield Invalid(place, f"is not a parameter of {known.__name__}; {listed}")
        else:
            yield Invalid(place, _said(one["msg"]))


def _part(part: int | str) -> str:
    return f"[{part}]" if isinstance(part, int) else f".{part}"[:200]


def _noise(part: int | str, known: type[Transform]) -> bool:
    """Whether a part of pydantic's location is only the branch of a union, which says nothing to the author."""
    return isinstance(part, str) and _BRANCH.fullmatch(part) is not None and part not in known.model_fields


def _said(message: str) -> str:
    """Pydantic's message as the rest of a sentence that begins with the field."""
    if message == "Field required":
        return "is required"
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _confides(annotation: Any) -> bool:
    """Whether the annotation accepts a `SecretRef`, as `Confidential` does."""
    return annotation is SecretRef or any(_confides(inner) for inner in getattr(annotation, "__args__", ()))


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return HIDDEN
    if isinstance(value, Mapping):
        named = set(value) == {"secret"}
        return dict(value) if named else {name: _hidden(inner) for name, inner in value.items()}
    return [_hidden(inner) for inner in value] if isinstance(value, list | tuple) else value
