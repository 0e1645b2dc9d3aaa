"""Declarations of requests and answers: `@declared`, and `read`, which reads a request by its declaration.

One dataclass per request and answer. OpenAPI describes it, and the dashboard's types are generated from that
description. orjson encodes an answer as it is; `read` makes a request of what a client sent. The rule of a field is its
type with the constraints in its `Annotated`:

    hours: Annotated[int, Interval(ge=1, le=720)] = 24

Constraints are those of `annotated_types`, which Pydantic describes in OpenAPI; so this module needs no web framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache, partial
from itertools import islice
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from annotated_types import Ge, GroupedMetadata, Le, MaxLen, MinLen

from foliot.core.attribute_docs import attribute_docs
from foliot.core.document import (
    MAX_NAME,
    MOST_COMPLAINTS,
    Complaints,
    check_flag,
    check_integer,
    check_label,
    check_number,
    check_object,
    check_text,
    choose,
    moment,
    unknown_field,
)
from foliot.core.errors import Invalid, InvalidMany

T = TypeVar("T")
ReadValue = Callable[[str, Any], Any]
"""Reads one value, which is not None, at this path of a request."""
JsonSchemaOf = Callable[[Any], dict[str, Any]]
"""Pydantic's handler of an annotation: the JSON schema that the field has without it."""

# Pydantic builds a type's schema when OpenAPI is first requested: most processes never serve it, and doing so for every
# class would be a good part of each start.
CLOSED: Mapping[str, Any] = {"extra": "forbid", "defer_build": True}
OPEN: Mapping[str, Any] = {**CLOSED, "extra": "allow"}


@overload
def declared(cls: type[T]) -> type[T]: ...
@overload
def declared(*, extra: bool = False, example: Any = None, frozen: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def declared(cls: type[T] | None = None, *, extra: bool = False, example: Any = None, frozen: bool = False) -> Any:
    """A request or an answer. `extra`: it may have more fields than are named; `example` is shown in OpenAPI.

    The docstring below a field is its description. A name that is a keyword of Python has an underscore appended. Not
    frozen unless asked for: lists hold hundreds, and a frozen one takes twice as long to make.
    """

    def declare(cls: type[T]) -> type[T]:
        made = dataclass(slots=True, kw_only=True, frozen=frozen)(cls)
        config = dict(OPEN if extra else CLOSED)
        if any(each.name.endswith("_") for each in fields(cast("Any", made))):
            config["alias_generator"] = _public_name
        if example is not None:
            config["json_schema_extra"] = {"example": example}
        made.__pydantic_config__ = config  # type: ignore[attr-defined]
        made.__get_pydantic_json_schema__ = classmethod(_described)  # type: ignore[attr-defined]
        return made

    return declare if cls is None else declare(cls)


def _described(cls: type[Any], core_schema: Any, handler: Any) -> dict[str, Any]:
    """The JSON schema of a declared class, with the docstrings below its fields as descriptions."""
    made: dict[str, Any] = handler(core_schema)
    shown = handler.resolve_ref_schema(made).get("properties", {})
    for name, words in attribute_docs(cls).items():
        if words and (schema := shown.get(_public_name(name))) is not None:
            schema.setdefault("description", words)
    return made


@dataclass(frozen=True, slots=True)
class Parsed:
    """The field is read by this function, called with its path and the raw value, instead of by its type."""

    read: ReadValue


@dataclass(frozen=True, slots=True)
class Checked:
    """A rule beyond the type: called with the path and the value that was read; raises `Invalid`."""

    check: Callable[[str, Any], None]


@dataclass(frozen=True, slots=True)
class Missing:
    """The message for a field without default that is left out; otherwise it is "is required"."""

    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """Further keywords of the field's JSON schema in OpenAPI, such as `examples`."""

    keywords: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: Any, handler: JsonSchemaOf) -> dict[str, Any]:
        return {**handler(schema), **self.keywords}


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """The type that a client sends and OpenAPI describes, where the value that is read has another."""

    type: Any

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        return handler.generate_schema(self.type)


@dataclass(frozen=True, slots=True)
class _OrNull:
    """Says in OpenAPI that null is accepted: it means the default, as for every field that has one."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: JsonSchemaOf) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


OR_NULL = _OrNull()
Name = Annotated[str, MinLen(1), MaxLen(MAX_NAME), Parsed(check_label)]
"""The name of a thing."""


def as_given(_path: str, value: Any) -> Any:
    """The raw value, for `Parsed`: a rule that needs more than this field reads it; None where it is missing."""
    return value


def read(cls: type[T], raw: object, where: str = "") -> T:
    """A request by its declaration; `Invalid` names every field that breaks a rule, and every unknown one."""
    return cls(**read_fields(cls, raw, where))


def read_fields(cls: Any, raw: object, where: str = "") -> dict[str, Any]:
    """The same, only the fields that were given a value, by attribute."""
    shape: _Shape = _shape(cls)
    if raw is None:
        raw = {}
    elif type(raw) is not dict:
        check_object(where, raw)
    values: dict[str, Any] = {}
    wrong: dict[str, Invalid] = {}
    unknown: list[str] = []
    for name, got in cast("Mapping[str, Any]", raw).items():
        known = shape.known.get(name)
        if known is None:
            unknown.append(name)
        elif got is not None:
            try:
                values[known[0]] = known[1](f"{where}.{name}" if where else name, got)
            except Invalid as error:
                wrong[name] = error
    if wrong or unknown or not shape.required.keys() <= values.keys():
        shape.complain(where, values, wrong, unknown)
    for attribute in shape.later:
        values.setdefault(attribute, None)
    return values


def in_order(cls: Any, errors: Iterable[Invalid]) -> list[Invalid]:
    """Errors of several readers of one request, in the order of its fields; of unknown fields at the end."""
    places = {name: place for place, name in enumerate(_shape(cls).known)}
    return sorted(errors, key=lambda error: places.get(re.split(r"[.\[]", error.field, maxsplit=1)[0], len(places)))


@dataclass(frozen=True, slots=True)
class _Shape:
    """A declaration, compiled for reading."""

    known: Mapping[str, tuple[str, ReadValue]]
    """Attribute and rule of each field, by its public name."""
    required: Mapping[str, str]
    """Attributes without default, and the message when one is missing."""
    later: Sequence[str]
    """Attributes without default that another rule reads: None when missing, which that rule reports."""

    def complain(
        self, where: str, values: Mapping[str, Any], wrong: dict[str, Invalid], unknown: Iterable[str]
    ) -> None:
        """Raise all errors, in the order of the declaration; of very many unknown fields, only the first."""
        complaints: list[Invalid] = []
        for name, (attribute, _) in self.known.items():
            error = wrong.get(name)
            if isinstance(error, InvalidMany):
                complaints += error.errors
            elif error is not None:
                complaints.append(error)
            elif attribute in self.required and attribute not in values:
                complaints.append(Invalid(f"{where}.{name}" if where else name, self.required[attribute]))
        complaints += [unknown_field(where, str(name), self.known) for name in islice(unknown, MOST_COMPLAINTS)]
        Complaints(complaints).speak()


@cache
def _shape(cls: type[Any]) -> _Shape:
    if not is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is no dataclass")
    hints = get_type_hints(cls, include_extras=True)
    known: dict[str, tuple[str, ReadValue]] = {}
    required: dict[str, str] = {}
    later: list[str] = []
    for each in fields(cls):
        if not each.init:
            continue
        hint, extras = _unwrapped(hints[each.name])
        try:
            known[_public_name(each.name)] = each.name, _rule(hint, extras)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.{each.name}: {error}") from None
        if _has_default(each):
            continue
        if known[_public_name(each.name)][1] is as_given:
            later.append(each.name)
        else:
            required[each.name] = next((one.message for one in extras if isinstance(one, Missing)), "is required")
    return _Shape(known, required, later)


def _public_name(attribute: str) -> str:
    return attribute.rstrip("_")


def _has_default(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """The type without `Annotated` and `None`, and all its annotations."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, extras = _unwrapped(hint.__origin__)
        return inner, [*extras, *(one for extra in hint.__metadata__ for one in _ungrouped(extra))]
    if origin in {Union, UnionType} and NoneType in get_args(hint):
        return _unwrapped(Union[tuple(one for one in get_args(hint) if one is not NoneType)])  # noqa: UP007
    return hint, []


def _ungrouped(extra: Any) -> Iterable[Any]:
    return extra if isinstance(extra, GroupedMetadata) else [extra]


def _rule(hint: Any, extras: Iterable[Any]) -> ReadValue:
    for one in extras:
        if isinstance(one, Parsed):
            return one.read
    rule = _type_rule(hint, extras)
    checks = [one.check for one in extras if isinstance(one, Checked)]
    return partial(_checked, rule, checks) if checks else rule


def _checked(rule: ReadValue, checks: Iterable[Callable[[str, Any], None]], path: str, got: Any) -> Any:
    value = rule(path, got)
    for check in checks:
        check(path, value)
    return value


_SIMPLE: Mapping[Any, ReadValue] = {bool: check_flag, datetime: moment, dict: check_object, Any: as_given}


def _type_rule(hint: Any, extras: Iterable[Any]) -> ReadValue:
    if hint is int or hint is float:
        check: Callable[..., Any] = check_integer if hint is int else check_number
        return partial(check, low=_bound(extras, Ge, "ge"), high=_bound(extras, Le, "le"))
    if hint is str:
        return partial(check_text, most=_bound(extras, MaxLen, "max_length"))
    simple = _SIMPLE.get(get_origin(hint) or hint)
    if simple is not None:
        return simple
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return partial(choose, options=hint)
    if is_dataclass(hint):
        return lambda path, got: read(cast("type[Any]", hint), got, path)
    raise TypeError(f"{hint} needs Parsed: no rule is known for this type")


def _bound(extras: Iterable[Any], kind: type[Any], name: str) -> Any:
    """Everything a client sends is bounded."""
    for one in extras:
        if isinstance(one, kind) and getattr(one, name) is not None:
            return getattr(one, name)
    raise TypeError(f"needs {kind.__name__}: a value from outside is bounded")
