"""The public names of the API: words of the glossary, each used once."""

from __future__ import annotations

import re

from tests.declared import openapi

DOCUMENT = openapi()


def test_each_operation_has_an_id_of_its_own() -> None:
    ids = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]

    assert sorted(ids) == sorted(set(ids))
    assert [one for one in ids if not re.fullmatch(r"[a-z_]+\.[a-z_]+", one)] == []
    assert {"schedules.create", "runs.list", "bulk.create"} <= set(ids)


def test_a_schema_is_named_for_what_it_is() -> None:
    names = set(DOCUMENT["components"]["schemas"])

    # Pydantic names two classes of one name by their modules, and FastAPI one that differs by its direction.
    assert [one for one in names if not one.isalnum() or re.search(r"Model$|-(In|Out)put$", one)] == []
    assert {"BulkAction", "TimelineMark", "Schedule", "Run", "Problem"} <= names
