"""Loads transforms from the modules of FOLIOT_TRANSFORMS and from entry points of installed packages."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from foliot.features.pipelines.chain.catalogue import TransformCatalogue
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.steps import ALIASES, built_in
from foliot.plugins import Found, Loader, members

_OURS = "foliot."


def load(modules: Sequence[str]) -> TransformCatalogue:
    """The catalogue of all transforms; what cannot be loaded is a fault in it."""
    catalogue = TransformCatalogue()
    for transform in built_in():
        catalogue.add(transform, *ALIASES.get(transform.__name__, ()), built_in=True)
    loader = Loader(
        catalogue=catalogue,
        find=transforms_in,
        add=lambda transform, names: catalogue.add(transform, *names),
        place=lambda transform: f"transform {transform.__name__}",
    )
    loader.load(modules)
    return catalogue


def transforms_in(made: Any) -> Iterator[Found[type[Transform]]]:
    """The transforms of a module by their names in it, or the class itself; without those imported from Foliot."""
    seen: set[type[Transform]] = set()
    for name, member in members(made):
        if not inspect.isclass(member) or not issubclass(member, Transform) or member in seen:
            continue
        if member.__module__.startswith(_OURS) or name.startswith("_"):
            continue
        seen.add(member)
        yield name, member
