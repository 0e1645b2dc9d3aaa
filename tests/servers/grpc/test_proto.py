"""The generated modules are what `proto/` says, and the page about them names what there is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.status import CODES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "grpc.md").read_text()


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("foliot_proto_generate", ROOT / "proto" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_are_not_stale() -> None:
    pytest.importorskip("grpc_tools")

    assert generator().stale() == [], "run `make proto`"


def test_every_method_is_documented_and_every_documented_method_exists() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \| .* \| .* \| `\w+:\w+` \|$", PAGE, re.MULTILINE))

    assert rows == {method.name for method in pb.DESCRIPTOR.services_by_name["SchedulerService"].methods}


def test_every_error_is_documented() -> None:
    rows = set(re.findall(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \|", PAGE, re.MULTILINE))

    assert {(code.name, reason) for _, code, reason in CODES} == rows


def test_a_change_takes_what_a_creation_takes_under_the_same_numbers() -> None:
    created, changed = pb.CreateScheduledJobRequest.DESCRIPTOR, pb.UpdateScheduledJobRequest.DESCRIPTOR

    assert {(one.name, one.number) for one in created.fields} <= {(one.name, one.number) for one in changed.fields}
