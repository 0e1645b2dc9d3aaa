"""The module of types: a TypedDict for each schema, and for the keyword arguments of a body that differ from it."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from clients.python.document import HEAD, Document, line_of, quoted, safe

SHORT_FORMS = {"ScheduleRequest", "SchedulePatch"}
SHORT_FIELDS = {
    "cron": "str",
    "every": "int | timedelta",
    "at": "Time",
    "webhook": "str | Mapping[str, Any]",
}
"""What foliot.client.short_forms writes out."""
OPEN = {
    "SchedulePatch": ("ScheduleRequest", {}),
    "WatchChange": ("WatchRequest", {}),
    "WatchPreviewRequest": ("WatchRequest", {"find": "str"}),
}
"""Bodies that the document leaves open: any of the fields of another, and more."""


def types(document: Document) -> str:
    """`types.py`: aliases first, for they are read when the module is loaded; then a class for each object."""
    aliases, classes = [], []
    for name, shape in sorted(document.schemas.items()):
        if name in OPEN:
            continue
        if shape.get("type") == "object" and "properties" in shape and shape.get("additionalProperties") is not True:
            if document.differs(name):
                classes.append(_class(document, f"{name}Input", name, request=True))
            classes.append(_class(document, name, name, request=name not in document.answered))
        else:
            named = document.type_of(shape, request=False)
            aliases.append(f"{name}: TypeAlias = {named}\n{line_of(shape.get('description', ''), '')}")
    classes += [_keywords(document, body) for body in sorted({one.body for one in document.operations if one.body})]
    parts = [
        HEAD.format("The documents that the API takes and answers."),
        "from collections.abc import Mapping, Sequence\nfrom datetime import datetime, timedelta\n",
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n",
        'Time: TypeAlias = str | datetime\n"""RFC 3339 with an offset, or a datetime with a time zone."""\n',
    ]
    return "\n".join([*parts[:1], "".join(parts[1:]), *aliases]) + "\n\n" + "\n\n".join(filter(None, classes))


def _class(document: Document, name: str, schema: str, *, request: bool) -> str:
    shape = document.schemas[schema]
    required = document.required(schema, request=request)
    fields = {
        field: (document.type_of(value, request=request), field in required)
        for field, value in shape["properties"].items()
    }
    return _typed_dict(name, shape.get("description", ""), fields)


def _keywords(document: Document, body: str) -> str:
    """The keyword arguments of a body, where they differ from its fields."""
    shape, total = document.schemas[body], True
    more: dict[str, str] = {}
    source = body
    if body in OPEN:
        source, more = OPEN[body]
        total = False
    required = document.required(source, request=True) if total else set()
    fields = {
        safe(field): (document.type_of(value, request=True), field in required)
        for field, value in document.schemas[source]["properties"].items()
    }
    fields |= {field: (kind, False) for field, kind in more.items()}
    if body in SHORT_FORMS:
        fields["type"] = (fields["type"][0], False)
        fields |= {field: (kind, False) for field, kind in SHORT_FIELDS.items()}
    if any(one.dry for one in document.operations if one.body == body):
        fields.pop("dry_run")
    if body not in OPEN and list(fields) == list(shape["properties"]):
        return ""
    return _typed_dict(f"{body}Fields", f"{shape.get('description', '')} Keyword arguments.".strip(), fields)


def arguments(document: Document, body: str) -> str:
    """The name of the type of a body's keyword arguments."""
    return f"{body}Fields" if _keywords(document, body) else body


def _typed_dict(name: str, description: str, fields: Mapping[str, tuple[str, bool]]) -> str:
    marked = {field: kind if always else f"NotRequired[{kind}]" for field, (kind, always) in fields.items()}
    doc = line_of(description, "    ")
    if any(not field.isidentifier() or keyword.iskeyword(field) for field in fields):
        lines = "".join(f"        {quoted(field)}: {quoted(kind)},\n" for field, kind in marked.items())
        return f"{name} = TypedDict(\n    {quoted(name)},\n    {{\n{lines}    }},\n)\n{line_of(description, '')}"
    lines = "".join(f"    {field}: {kind}\n" for field, kind in marked.items())
    parts = "\n".join(filter(None, [doc, lines])) or "    pass\n"
    return f"class {name}(TypedDict):\n{parts}"
