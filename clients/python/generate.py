"""Writes the generated modules of foliot.client from the OpenAPI document: `make reference`.

`types.py` has a TypedDict for each schema, `operations.py` the table of operations, `resources.py` and
`async_resources.py` a method for each operation; the dashboard learns which method makes a request. A test fails when
they are behind the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from clients.python.document import Document
from clients.python.methods import dashboard, operations, page, resources
from clients.python.types_module import types
from foliot.app.http import create_app
from foliot.commands.envelope import UseCases

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "src" / "foliot" / "client"
DASHBOARD = ROOT / "ui" / "src" / "parts" / "copy" / "pythonMethods.ts"
PAGE = ROOT / "docs" / "reference" / "python-client.md"


def written(openapi: Mapping[str, Any]) -> dict[Path, str]:
    """Every generated file with its text."""
    document = Document(openapi)
    return {
        CLIENT / "types.py": types(document),
        CLIENT / "operations.py": operations(document),
        CLIENT / "resources.py": resources(document, asynchronous=False),
        CLIENT / "async_resources.py": resources(document, asynchronous=True),
        DASHBOARD: dashboard(document),
        PAGE: page(document),
    }


if __name__ == "__main__":
    for place, text in written(create_app(cast("UseCases", None)).openapi()).items():
        place.write_text(text, encoding="utf-8")
