"""Writes the Python modules of the gRPC server from `proto/`; with `--check`, says which of them are not up to date.

The modules are committed, so that running Foliot needs no compiler. `make proto` writes them, `make check`
compares them.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor import FileDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto" / "foliot" / "v1"
PACKAGE = "foliot/proto"
TARGET = ROOT / "src" / PACKAGE
NAMES = ("scheduler_service",)

STUBS = '''\
"""Types of the client and server classes; SchedulerServiceAsyncStub exists for type checkers only."""

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from {package} import {name}_pb2

_Q = TypeVar("_Q", contravariant=True)
_A = TypeVar("_A", covariant=True)
_Metadata = Sequence[tuple[str, str | bytes]]

class _Unary(Protocol, Generic[_Q, _A]):
    def __call__(
        self,
        request: _Q,
        timeout: float | None = None,
        metadata: _Metadata | None = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> _A: ...
    def with_call(
        self, request: _Q, timeout: float | None = None, metadata: _Metadata | None = None
    ) -> tuple[_A, Any]: ...

class _Call(Awaitable[_A], Protocol[_A]):
    async def initial_metadata(self) -> _Metadata: ...
    async def trailing_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _Stream(Iterator[_A], Protocol[_A]):
    def initial_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _AsyncStream(Protocol[_A]):
    def __aiter__(self) -> AsyncIterator[_A]: ...
    async def read(self) -> _A: ...
    async def initial_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _Asked(Protocol, Generic[_Q, _A]):
    def __call__(
        self,
        request: _Q,
        timeout: float | None = None,
        metadata: _Metadata | None = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> _A: ...
'''
"""How a stub is called. The library itself ships no types."""


def compile_into(folder: Path) -> None:
    """All generated modules, below this folder."""
    described = folder / "descriptors"
    code = protoc.main(
        [
            "protoc",
            f"-I{PACKAGE}={SOURCES}",
            f"-I{files('grpc_tools') / '_proto'}",
            f"--python_out={folder}",
            f"--pyi_out={folder}",
            f"--grpc_python_out={folder}",
            f"--descriptor_set_out={described}",
            "--include_imports",
            *(f"{PACKAGE}/{name}.proto" for name in NAMES),
        ]
    )
    if code != 0:
        sys.exit(f"proto: the compiler ended with {code}")
    pool = DescriptorPool()
    for one in FileDescriptorSet.FromString(described.read_bytes()).file:
        pool.Add(one)
    described.unlink()
    for name in NAMES:
        stubs = folder / PACKAGE / f"{name}_pb2_grpc.pyi"
        stubs.write_text(typed(name, pool.FindFileByName(f"{PACKAGE}/{name}.proto")))


def typed(name: str, file: FileDescriptor) -> str:
    """The types of the module that gRPC's own plugin leaves without any."""
    text = STUBS.format(package=PACKAGE.replace("/", "."), name=name)
    for service in file.services_by_name.values():
        text += "\n" + "\n".join(
            [
                *stub(service, "Stub", "_Unary[{asked}, {gives}]", "_Asked[{asked}, _Stream[{gives}]]"),
                "",
                *stub(
                    service, "AsyncStub", "_Asked[{asked}, _Call[{gives}]]", "_Asked[{asked}, _AsyncStream[{gives}]]"
                ),
                "",
                f"class {service.name}Servicer:",
                *(f"    def {method.name}(self, request: {asked(method)}, context: Any) -> Any: ..."
                  for method in service.methods),
                "",
                f"def add_{service.name}Servicer_to_server(servicer: {service.name}Servicer, server: Any) -> None: ...",
                "",
            ]
        )  # fmt: skip
    return text


def stub(service: ServiceDescriptor, suffix: str, unary: str, stream: str) -> list[str]:
    methods = [
        f"    {method.name}: "
        + (stream if method.server_streaming else unary).format(asked=asked(method), gives=answer(method))
        for method in service.methods
    ]
    return [f"class {service.name}{suffix}:", "    def __init__(self, channel: Any) -> None: ...", *methods]


def asked(method: MethodDescriptor) -> str:
    return f"{method.input_type.file.name.rpartition('/')[2].removesuffix('.proto')}_pb2.{method.input_type.name}"


def answer(method: MethodDescriptor) -> str:
    return f"{method.output_type.file.name.rpartition('/')[2].removesuffix('.proto')}_pb2.{method.output_type.name}"


def stale() -> list[str]:
    """Modules that are not what the compiler would write now."""
    with tempfile.TemporaryDirectory() as made:
        compile_into(Path(made))
        fresh = {path.name: path.read_bytes() for path in (Path(made) / PACKAGE).iterdir()}
    kept = {path.name: path.read_bytes() for path in TARGET.glob("*_pb2*.py*")}
    return sorted(name for name in fresh.keys() | kept.keys() if fresh.get(name) != kept.get(name))


def main() -> None:
    if "--check" in sys.argv[1:]:
        if names := stale():
            sys.exit(f"proto: run `make proto`: not what proto/ says: {', '.join(names)}")
        return
    with tempfile.TemporaryDirectory() as made:
        compile_into(Path(made))
        for path in (Path(made) / PACKAGE).iterdir():
            (TARGET / path.name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
