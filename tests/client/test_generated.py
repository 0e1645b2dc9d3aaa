"""The generated modules of the client follow the API's own description."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from clients.python.document import LEFT_OUT
from clients.python.generate import CLIENT, written
from foliot.client.operations import OPERATIONS, VERSION
from tests.declared import openapi


@cache
def made() -> dict[Path, str]:
    return written(openapi())


@pytest.mark.parametrize("place", sorted(made()), ids=lambda place: place.name)
def test_the_generated_files_are_those_that_the_api_describes(place: Path) -> None:
    assert place.read_text(encoding="utf-8") == made()[place], "make reference writes them anew"


def test_every_operation_of_the_api_has_a_method() -> None:
    known = {operation["operationId"] for path in openapi()["paths"].values() for operation in path.values()}
    methods = made()[CLIENT / "resources.py"]

    assert len(known) > 150
    assert set(OPERATIONS) == known - set(LEFT_OUT)
    assert [name for name in OPERATIONS if f'("{name}", ' not in methods] == []


def test_the_client_is_of_the_version_of_the_api() -> None:
    assert openapi()["info"]["version"] == VERSION


def test_the_two_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def signatures(text: str) -> list[str]:
        return re.findall(r"def (\w+\(.*?\)) ->", text)

    blocking, asynchronous = made()[CLIENT / "resources.py"], made()[CLIENT / "async_resources.py"]

    assert len(signatures(blocking)) > 150
    assert [line for line in signatures(blocking) if "session" not in line] == [
        line for line in signatures(asynchronous) if "session" not in line
    ]


def test_a_policy_is_whole_in_an_answer_and_may_be_partial_in_a_request() -> None:
    types = made()[CLIENT / "types.py"]

    assert "    catchup: CatchupSettings\n" in types
    assert "    catchup: NotRequired[CatchupSettingsInput | None]\n" in types
    assert '    """' in types


def test_bodies_are_keyword_arguments_also_where_a_field_is_a_python_keyword() -> None:
    types = made()[CLIENT / "types.py"]

    assert re.search(
        r"class NewBackfillFields\(TypedDict\):\n.*\n\n    from_: Time\n    to: NotRequired\[Time \| None\]\n", types
    )
    assert re.search(r"class ScheduleRequestFields\(TypedDict\):(\n.*)+?    cron: NotRequired\[str\]\n", types)
