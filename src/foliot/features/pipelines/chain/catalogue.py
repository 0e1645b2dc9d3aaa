"""The catalogue of transforms by name: an allow-list, so that a file cannot cause an import."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic.errors import PydanticUserError

from foliot.features.pipelines.chain.transform import Transform
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
