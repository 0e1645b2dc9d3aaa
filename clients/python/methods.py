"""The modules of operations and methods, and their page of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clients.python.document import HEAD, JSON, Described, Document, docstring, quoted, safe, title_of
from clients.python.types_module import SHORT_FORMS, arguments

ALSO = {
    "articles.results": "jobs.results",
    "articles.status": "jobs.status",
    "crawls.results": "jobs.results",
    "crawls.status": "jobs.status",
    "crawls.follow": "jobs.logs",
}
"""Methods that are found in a second place."""
ITEMS = {"articles.results": "t.ArticleResult", "crawls.results": "Any", "jobs.results": "Any"}
"""The types of items where the document names several."""
STREAMS = {"runs.events": ("RunEvent", "The run's events"), "jobs.logs": ("dict[str, Any]", "The lines of the log")}
NOT_SENT = {"cursor", "skip", "ticket", "last-event-id"}
"""Parameters that the client fills in by itself, or has no use for."""

OPERATION = '''

VERSION = {version}
"""Version of the API that these modules were written from."""


@dataclass(frozen=True, slots=True)
class Operation:
    """How one operation is asked."""

    method: str
    path: str
    keyed: bool = False
    """Takes an idempotency key."""
    items: str = ""
    """The field of the answer that holds the items of a page; one of several, separated by spaces."""
    paged_by: str = ""
    """The parameter of the next page."""


OPERATIONS = {{
{operations}}}
"""By the operation's id."""
'''


def operations(document: Document) -> str:
    lines = []
    for one in document.operations:
        given = [quoted(one.verb.upper()), quoted(one.path)]
        given += ["keyed=True"] if one.keyed else []
        if one.paged:
            given += [f"items={quoted(one.paged[0])}", f"paged_by={quoted(one.paged[2])}"]
        lines.append(f"    {quoted(one.name)}: Operation({', '.join(given)}),\n")
    head = HEAD.format("The table of operations.") + "\nfrom dataclasses import dataclass\n"
    return head + OPERATION.format(version=quoted(document.version), operations="".join(lines))


def resources(document: Document, *, asynchronous: bool) -> str:
    """`resources.py`: a class for each group, a method for each operation."""
    mark = "Async" if asynchronous else ""
    module = "async_session" if asynchronous else "session"
    groups = dict(sorted(grouped(document).items()))
    used = "\n".join(_group(document, name, methods, asynchronous=asynchronous) for name, methods in groups.items())
    known = "".join(f"        self.{name} = {title_of(name)}{mark}Resource(session)\n" for name in groups)
    iterators = "AsyncIterator" if asynchronous else "Iterator"
    return (
        HEAD.format("A method for each operation, to be awaited." if asynchronous else "A method for each operation.")
        + f"\nimport builtins\nfrom collections.abc import {iterators}, Sequence\n"
        + "from typing import TYPE_CHECKING, Any, Literal, Unpack\n\n"
        + f"from foliot.client.{module} import {mark}Items, {mark}Resource, {mark}Session\n"
        + "from foliot.client.core import fields_of\nfrom foliot.client.short_forms import schedule_document\n\n"
        + "if TYPE_CHECKING:\n    from foliot.client import types as t\n\n\n"
        + used
        + f'\n\nclass {mark}Resources:\n    """The groups of operations."""\n\n'
        + f"    def __init__(self, session: {mark}Session) -> None:\n{known}"
    )


def grouped(document: Document) -> dict[str, list[tuple[str, Described]]]:
    """The methods of each group with their operations."""
    groups: dict[str, list[tuple[str, Described]]] = {}
    by_name = {one.name: one for one in document.operations}
    found = [(one.method, one) for one in document.operations]
    for method, one in [*found, *((method, by_name[name]) for method, name in ALSO.items())]:
        group, _, name = method.partition(".")
        groups.setdefault(group, []).append((name, one))
    return groups


def _group(document: Document, name: str, methods: list[tuple[str, Described]], *, asynchronous: bool) -> str:
    mark = "Async" if asynchronous else ""
    written = "\n".join(
        "\n".join(Method(document, name, method, one, asynchronous).written())
        for method, one in sorted(methods, key=lambda one: one[0])
    )
    return f"class {title_of(name)}{mark}Resource({mark}Resource):\n    __slots__ = ()\n\n{written}\n"


@dataclass(frozen=True)
class Method:
    """The methods of one operation: most have one."""

    document: Document
    group: str
    name: str
    one: Described
    asynchronous: bool

    def written(self) -> Iterator[str]:
        one = self.one
        if one.name == "jobs.logs":
            yield self._follow()
            if self.group == "jobs":
                yield self._plain("log_text", "str", "_text", "Get the log of a crawl so far", format="text")
        elif JSON in one.media:
            yield from self._json()
            if one.name in STREAMS:
                yield self._follow()
        elif one.success.keys() == {"204"}:
            yield self._plain(self.name, "None", "_json", one.summary)
        elif one.media and one.media != {"text/plain"}:
            yield self._plain(self.name, self._iterator("bytes"), "_bytes", one.summary)
        else:
            yield self._plain(self.name, "str", "_text", one.summary)

    def _json(self) -> Iterator[str]:
        one = self.one
        if any(parameter["name"] == "format" for parameter in one.parameters("query")):
            if one.paged:
                items = self._items(ITEMS[f"{self.group}.{self.name}"])
                yield self._plain(self.name, items, "_items", one.summary, format="json")
            else:
                yield self._plain(self.name, one.answer(), "_json", one.summary, format="json")
            yield self._plain(f"download_{self.name}", self._iterator("bytes"), "_bytes", f"{one.summary}, as a file")
        elif one.paged:
            yield self._plain(self.name, self._items(one.paged[1]), "_items", one.summary)
        elif one.dry:
            yield self._plain(self.name, one.answer("202"), "_json", one.summary)
            yield self._plain(
                f"{self.name}_dry_run", one.answer("200"), "_json", f"{one.summary}: what it would do", dry=True
            )
        else:
            yield self._plain(self.name, one.answer(), "_json", one.summary)

    def _plain(self, name: str, answer: str, way: str, summary: str, *, dry: bool = False, **fixed: str) -> str:
        """One method that calls `way` of its resource; `fixed` are parameters that its caller does not choose."""
        one = self.one
        query = [each for each in one.parameters("query") if self._chosen(each, way, fixed)]
        taken = [*(f"{segment}: str" for segment in one.segments), *(["/"] if one.segments else [])]
        keywords = self._keywords(query)
        starred = ["*"] if keywords and not keywords[0].startswith("**") else []
        waits = self.asynchronous and way in {"_json", "_text"}
        line = f"{'await ' if waits else ''}self.{way}({', '.join(self._given(query, way, fixed, dry=dry))})"
        returned = line if answer == "None" else f"return {line}"
        return (
            f"    {'async ' if waits else ''}def {safe(name)}({', '.join(['self', *taken, *starred, *keywords])})"
            f" -> {answer}:\n        {docstring(summary)}\n        {returned}\n"
        ).replace(" list[", " builtins.list[")

    def _chosen(self, parameter: Mapping[str, Any], way: str, fixed: Mapping[str, str]) -> bool:
        """Whether a caller of the method gives this parameter."""
        name, one = parameter["name"], self.one
        in_body = one.body is not None and name in self.document.schemas[one.body].get("properties", {})
        continues = one.paged is not None and way == "_items" and name == one.paged[2] != "after"
        unused = name == "limit" and way == "_bytes"
        return not (name in NOT_SENT or name in fixed or in_body or continues or unused or parameter.get("deprecated"))

    def _keywords(self, query: list[Mapping[str, Any]]) -> list[str]:
        one = self.one
        keywords = [self._keyword(parameter) for parameter in query]
        keywords += ["if_match: int | None = None"] if one.conditional else []
        keywords += ["idempotency_key: str | None = None"] if one.keyed else []
        return keywords + ([f"**body: Unpack[t.{arguments(self.document, one.body)}]"] if one.body else [])

    def _given(self, query: list[Mapping[str, Any]], way: str, fixed: Mapping[str, str], *, dry: bool) -> list[str]:
        """What the method hands on."""
        one = self.one
        path = ", ".join(f"{quoted(segment)}: {segment}" for segment in one.segments)
        sent = [f"{quoted(each['name'])}: {safe(each['name'])}" for each in query]
        sent += [f"{quoted(key)}: {quoted(value)}" for key, value in fixed.items()]
        given = [quoted(one.name), f"{{{path}}}"]
        if sent or one.body or way != "_json":
            given.append(f"{{{', '.join(sent)}}}")
        given += [self._body(dry=dry)] if one.body else []
        given += ["if_match=if_match"] if one.conditional else []
        return given + (["idempotency_key=idempotency_key"] if one.keyed else [])

    def _keyword(self, parameter: Mapping[str, Any]) -> str:
        kind = self.document.type_of(parameter["schema"], request=True, prefix="t.")
        name = safe(parameter["name"])
        if name in {"ids", "state", "kind"} and kind.removesuffix(" | None") == "str":
            kind = "str | Sequence[str]" if name == "ids" else kind
        if name in {"from_", "to", "at"}:
            kind = "t.Time"
        if parameter.get("required"):
            return f"{name}: {kind}"
        return f"{name}: {kind.removesuffix(' | None')} | None = None"

    def _body(self, *, dry: bool) -> str:
        fields = "schedule_document(fields_of(body))" if self.one.body in SHORT_FORMS else "fields_of(body)"
        if dry:
            return f'{fields} | {{"dry_run": True}}'
        required = self.one.operation["requestBody"].get("required")
        return fields if required else f"{fields} or None"

    def _follow(self) -> str:
        kind, subject = STREAMS[self.one.name]
        (segment,) = self.one.segments
        answer = kind if kind.startswith("dict") else f"t.{kind}"
        by_number = self.one.name == "runs.events"
        after = "after: int = 0" if by_number else "last_id: str | None = None"
        given = "str(after) if after else None" if by_number else "last_id"
        return (
            f"    def follow(self, {segment}: str, /, *, {after}) -> {self._iterator(answer)}:\n"
            f'        """{subject} as they come, each once, until the end; resumes exactly after a cut."""\n'
            f"        return self._follow({quoted(self.one.name)}, {{{quoted(segment)}: {segment}}}, {given})\n"
        )

    def _items(self, kind: str) -> str:
        return f"{'Async' if self.asynchronous else ''}Items[{kind}]"

    def _iterator(self, kind: str) -> str:
        return f"{'Async' if self.asynchronous else ''}Iterator[{kind}]"


INTRODUCTION = """\
# Python client: methods

Every operation of the [HTTP API](rest.md) as a method of `Foliot` and `AsyncFoliot`
([how to use them](../how-to/python-client.md)). Parts of the path are positional, parameters and fields of the body are
keyword arguments; one that is a Python keyword ends in an underscore (`from_`). `foliot.client.types` has the types of
all documents.

| method | request | does |
|---|---|---|
"""


def page(document: Document) -> str:
    """The page of the reference."""
    rows = [
        f"| `{group}.{written}` | `{one.verb.upper()} {one.path}` | {one.summary} |\n"
        for group, methods in sorted(grouped(document).items())
        for name, one in sorted(methods, key=lambda one: one[0])
        for written in _method_names(Method(document, group, name, one, asynchronous=False))
    ]
    return INTRODUCTION + "".join(rows)


def _method_names(method: Method) -> list[str]:
    return [re.findall(r"def (\w+)", text)[0] for text in method.written()]


# --- the dashboard ----------------------------------------------------------------------------------------------------

DASHBOARD = """\
/* Written by `make reference` from the API's description. Do not edit. */

/** The Python client's method of each request; a star where it is iterated. */
export const PYTHON_METHODS = `
{methods}`;
"""


def dashboard(document: Document) -> str:
    """What "Copy as Python" knows: requests that are answered with JSON."""
    lines = [
        f"{one.verb.upper()} {one.path} {one.method}{' *' if one.paged else ''}\n"
        for one in document.operations
        if JSON in one.media or one.success.keys() == {"204"}
    ]
    return DASHBOARD.format(methods="".join(sorted(lines)))
