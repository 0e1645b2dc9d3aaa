"""Attributes of models are described where they are written."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field, TypeAdapter

from foliot.core import attribute_docs
from foliot.core.declaration import declared
from foliot.servers.http.schema import DocumentedModel


class Parent(DocumentedModel):
    """A model."""

    plain: int = 0
    said: int = 0
    """What is said
    in two lines."""
    kept: int = Field(0, description="Said in the field.")
    """And below it."""
    renamed_: int = Field(0, alias="renamed")
    """Known by another name."""
    again: int = 0
    """The first time."""


@declared
class Answer:
    """A declared class."""

    plain: int = 0
    kept_: int = 0
    """Under its public name."""


@declared
class LongerAnswer(Answer):
    """One that extends it."""

    more: Answer | None = None
    """Within."""


class Child(Parent):
    """Another."""

    again: int = 1
    more: list[Parent] = Field(default_factory=list)
    """Some of them."""


def descriptions(model: type[DocumentedModel]) -> dict[str, Any]:
    properties = model.model_json_schema()["properties"]
    return {name: shown["description"] for name, shown in properties.items() if "description" in shown}


PARENTS = {"said": "What is said\nin two lines.", "kept": "Said in the field.", "renamed": "Known by another name."}


def test_what_stands_below_an_attribute_describes_it() -> None:
    assert descriptions(Parent) == {**PARENTS, "again": "The first time."}


def test_a_subclass_says_what_its_parents_say_unless_it_writes_it_anew() -> None:
    assert descriptions(Child) == {**PARENTS, "more": "Some of them."}


def test_a_declared_class_is_described_by_its_docstrings_and_those_of_its_base() -> None:
    shown = TypeAdapter(LongerAnswer).json_schema()

    own = {name: one.get("description") for name, one in shown["properties"].items()}
    assert own == {"plain": None, "kept": "Under its public name.", "more": "Within."}
    assert shown["$defs"]["Answer"]["properties"]["kept"]["description"] == "Under its public name."


def test_models_within_models_are_described_too() -> None:
    within = Child.model_json_schema()["$defs"]["Parent"]

    assert within["properties"]["said"]["description"] == PARENTS["said"]


def test_a_class_made_in_a_function_is_found() -> None:
    class Local(DocumentedModel):
        near: int = 0
        """At hand."""

    assert descriptions(Local) == {"near": "At hand."}


def test_without_source_there_is_a_schema_without_words() -> None:
    space: dict[str, Any] = {"__name__": "nowhere", "Described": DocumentedModel}
    exec("class Made(Described):\n    far: int = 0\n    '''Away.'''\n", space)

    assert descriptions(space["Made"]) == {}


def test_nothing_is_read_before_a_schema_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(module: str) -> dict[str, Any]:
        read.append(module)
        return {}

    monkeypatch.setattr(attribute_docs, "_docs_in", reading)

    class Late(DocumentedModel):
        here: int = 0
        """Not yet."""

    assert Late(here=3).model_dump() == {"here": 3}
    assert read == []
    Late.model_json_schema()
    assert read
