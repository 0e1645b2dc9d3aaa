"""A gRPC service as others run it, in a process of its own: what schedules call in tests.

`python -m tests.scraper_service --port 50053` serves `shop.v1.ScraperService` with server reflection. What it does is
the `mode` of the request; what it got is in its answer and, with `--calls`, in a file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import aio
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

HOSTILE = [
    "mute",
    "noise",
    "stalled",
    "crowd",
    "missing",
    "circle",
    "endless",
    "contradiction",
    "flood",
    "garbage",
    "liar",
]
ROOT = Path(__file__).parents[1]
SERVICE = "shop.v1.ScraperService"
COMMON = """
syntax = "proto3";
package shop.v1;
message Price { string product = 1; int64 cents = 2; }
"""
PROTO = """
syntax = "proto3";
package shop.v1;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "shop/v1/common.proto";
enum Depth { DEPTH_UNSPECIFIED = 0; SHALLOW = 1; DEEP = 2; }
message Filter { string brand = 1; repeated double bounds = 2; }
message ScrapeRequest {
  string mode = 1;
  repeated string competitor_ids = 2;
  int32 product_limit = 3;
  int64 since_id = 4;
  bool urgent = 5;
  double threshold = 6;
  bytes token = 7;
  Depth depth = 8;
  google.protobuf.Struct options = 9;
  google.protobuf.Timestamp since = 10;
  google.protobuf.Duration pause = 11;
  google.protobuf.Int64Value most = 12;
  google.protobuf.Any extra = 13;
  map<string, int32> weights = 14;
  map<string, Filter> filters = 15;
  repeated Filter either = 16;
  Filter only = 17;
  oneof window { int32 hours = 18; int32 days = 19; }
}
message ScrapeReply {
  ScrapeRequest got = 1;
  map<string, string> metadata = 2;
  double seconds_left = 3;
  repeated Price prices = 4;
  uint64 big = 5;
  string note = 6;
  bool complete = 7;
}
message Nothing {}
service ScraperService {
  rpc ScrapeCompetitorPrices(ScrapeRequest) returns (ScrapeReply);
  rpc WatchPrices(ScrapeRequest) returns (stream Price);
  rpc Upload(stream Price) returns (ScrapeReply);
  rpc Ping(Nothing) returns (Nothing);
}
service AuditService { rpc Ping(Nothing) returns (Nothing); }
service OldService { rpc Count(Nothing) returns (Nothing); }
"""
CHANGED = (
    PROTO.replace("int32 product_limit = 3;", "int32 most_products = 30;")
    .replace("string note = 6;", "bytes note = 6;")
    .replace("OldService", "NewService")
)
"""The same service after a change: a field has another name and number, another is of another kind, a method moved."""


def compiled(main: str) -> DescriptorPool:
    """The interface, as protoc reads it."""
    with tempfile.TemporaryDirectory() as place:
        package = Path(place) / "shop" / "v1"
        package.mkdir(parents=True)
        (package / "common.proto").write_text(COMMON)
        (package / "scraper.proto").write_text(main)
        out = Path(place) / "set"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{place}", "--include_imports"]
        subprocess.run([*command, f"--descriptor_set_out={out}", "shop/v1/scraper.proto"], check=True)
        files = FileDescriptorSet.FromString(out.read_bytes())
    pool = DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@dataclass
class Scraper(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers every method of the interface."""

    pool: DescriptorPool
    calls: Path | None = None
    reflection: Any = None

    @property
    def counting(self) -> str:
        """The service that counts."""
        return next(name for name in ("shop.v1.OldService", "shop.v1.NewService") if self.has(name))

    def has(self, service: str) -> bool:
        try:
            self.pool.FindServiceByName(service)
        except KeyError:
            return False
        return True

    def turn(self) -> None:
        """Become the changed one, without a restart."""
        self.pool = self.reflection._pool = compiled(CHANGED)
        self.reflection._service_names = tuple(names_of(self))

    def message(self, name: str, **values: Any) -> Any:
        kind = GetMessageClass(self.pool.FindMessageTypeByName(f"shop.v1.{name}"))
        return ParseDict(values, kind(), descriptor_pool=self.pool)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        match details.method.removeprefix("/"):
            case "shop.v1.ScraperService/ScrapeCompetitorPrices":
                return grpc.unary_unary_rpc_method_handler(self.scrape)
            case "shop.v1.ScraperService/WatchPrices":
                return grpc.unary_stream_rpc_method_handler(self.watch)
            case "shop.v1.ScraperService/Ping" | "shop.v1.AuditService/Ping":
                return grpc.unary_unary_rpc_method_handler(self.ping)
            case method if method == f"{self.counting}/Count":
                return grpc.unary_unary_rpc_method_handler(self.ping)
            case _:
                return None

    def read(self, raw: bytes, context: Any) -> tuple[Any, dict[str, str]]:
        kind = GetMessageClass(self.pool.FindMessageTypeByName("shop.v1.ScrapeRequest"))
        metadata = {name: value for name, value in context.invocation_metadata() if isinstance(value, str)}
        request: Any = kind.FromString(raw)
        self.note({"mode": request.mode, "metadata": metadata, "left": context.time_remaining()})
        return request, metadata

    def note(self, what: dict[str, Any]) -> None:
        if self.calls is not None:
            with self.calls.open("a") as file:
                file.write(json.dumps(what) + "\n")

    async def ping(self, raw: bytes, context: Any) -> bytes:
        return b""

    async def scrape(self, raw: bytes, context: Any) -> bytes:
        request, metadata = self.read(raw, context)
        mode, _, what = request.mode.partition(":")
        match mode:
            case "abort":
                await context.abort(grpc.StatusCode[what], f"said {what}\nat 10.1.2.3:50053")
            case "rich":
                await context.abort_with_status(rpc_status.to_status(self.rich(what)))
            case "crash":
                raise RuntimeError("boom")
            case "slow":
                await self.wait(float(what))
            case "large":
                return note_of(int(what))
            case "bomb":
                context.set_compression(grpc.Compression.Gzip)
                return note_of(int(what))
            case "turn":
                self.turn()
            case "latin":
                return b"\x32\x01\xe5"
            case "garbage":
                return b"\xff\xff\xff\xff"
            case _:
                pass
        reply = self.message(
            "ScrapeReply",
            got=MessageToDict(request, descriptor_pool=self.pool),
            metadata=metadata,
            seconds_left=context.time_remaining() or 0,
            prices=[{"product": "p\x001", "cents": 2**53 + 1}],
            big=2**64 - 1,
        )
        return bytes(reply.SerializeToString())

    async def wait(self, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            self.note({"mode": "waited"})
        except asyncio.CancelledError:
            self.note({"mode": "cancelled"})
            raise

    async def watch(self, raw: bytes, context: Any) -> AsyncIterator[bytes]:
        request, _ = self.read(raw, context)
        for number in range(int(request.mode)):
            yield bytes(self.message("Price", product=str(number), cents=number).SerializeToString())

    @staticmethod
    def rich(seconds: str) -> status_pb2.Status:
        retry, request = AnyMessage(), AnyMessage()
        retry.Pack(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=int(seconds), nanos=500_000_000)))
        violation = error_details_pb2.BadRequest.FieldViolation(field="mode", description="is odd")
        request.Pack(error_details_pb2.BadRequest(field_violations=[violation]))
        return status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="too busy", details=[retry, request])


def names_of(scraper: Scraper) -> list[str]:
    return sorted([SERVICE, "shop.v1.AuditService", scraper.counting, reflection.SERVICE_NAME])


def note_of(length: int) -> bytes:
    """A `ScrapeReply` with so long a note, in its wire form."""
    size, rest = b"", length
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return b"\x32" + size + bytes([rest]) + b"x" * length


class NewReflection(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Reflection under its newer name only."""

    def __init__(self, servicer: Any) -> None:
        self.servicer = servicer

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":
            return None
        return grpc.stream_stream_rpc_method_handler(
            self.servicer.ServerReflectionInfo,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )


class Hostile(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Reflection that lies, floods or stalls."""

    def __init__(self, how: str) -> None:
        self.how = how

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if not details.method.startswith("/grpc.reflection.v1alpha."):
            return None
        return grpc.stream_stream_rpc_method_handler(self.answer)

    async def answer(self, questions: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for raw in questions:
            question = reflection_pb2.ServerReflectionRequest.FromString(raw)
            match self.how:
                case "mute":
                    return
                case "noise":
                    yield b"\xff\xff\xff"
                case "stalled":
                    await asyncio.sleep(60)
                case _ if question.list_services:
                    yield self.listed()
                case _:
                    yield self.file(question.file_containing_symbol or question.file_by_filename)

    def listed(self) -> bytes:
        names = [f"shop.v1.Service{number}" for number in range(300)] if self.how == "crowd" else [SERVICE]
        services = [reflection_pb2.ServiceResponse(name=name) for name in names]
        answer = reflection_pb2.ListServiceResponse(service=services)
        return bytes(reflection_pb2.ServerReflectionResponse(list_services_response=answer).SerializeToString())

    def file(self, name: str) -> bytes:
        made = FileDescriptorProto(name=name, package="shop.v1", syntax="proto3")
        match self.how:
            case "missing":
                error = reflection_pb2.ErrorResponse(error_code=5, error_message="who?")
                return bytes(reflection_pb2.ServerReflectionResponse(error_response=error).SerializeToString())
            case "circle":
                made.dependency.append("b" if name != "b" else SERVICE)
            case "endless":
                made.dependency.append(f"{name}+")
            case "contradiction":
                made.service.add(name="ScraperService").method.add(
                    name="X", input_type=".no.Such", output_type=".no.Such"
                )
            case "flood":
                made.options.java_package = "x" * 5_000_000
            case _:
                pass
        raw = b"\xff\xff\xff" if self.how == "garbage" else made.SerializeToString()
        files = reflection_pb2.FileDescriptorResponse(file_descriptor_proto=[raw])
        return bytes(reflection_pb2.ServerReflectionResponse(file_descriptor_response=files).SerializeToString())


async def serve(arguments: argparse.Namespace) -> None:
    pool = compiled(CHANGED if arguments.changed else PROTO)
    server = aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)])
    scraper = Scraper(pool, arguments.calls)
    server.add_generic_rpc_handlers([scraper])
    servicer = scraper.reflection = reflection.aio.ReflectionServicer(names_of(scraper), pool=pool)
    match arguments.reflection:
        case "v1alpha":
            reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
        case "off":
            pass
        case "v1":
            server.add_generic_rpc_handlers([NewReflection(servicer)])
        case _:
            pass
    place = f"127.0.0.1:{arguments.port}"
    if arguments.certificate is None:
        bound = server.add_insecure_port(place)
    else:
        pair = [(arguments.key.read_bytes(), arguments.certificate.read_bytes())]
        bound = server.add_secure_port(place, grpc.ssl_server_credentials(pair))
    await server.start()
    print(f"serving on {bound}", flush=True)
    await server.wait_for_termination()


async def serve_hostile() -> None:
    """One server for each way to be hostile; says their ports."""
    ports, servers = [], []
    for how in HOSTILE:
        server = aio.server(options=[("grpc.max_send_message_length", -1)])
        server.add_generic_rpc_handlers([Hostile(how)])
        ports.append(server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        servers.append(server)
    print(f"serving on {' '.join(map(str, ports))}", flush=True)
    await asyncio.gather(*(server.wait_for_termination() for server in servers))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--reflection", choices=["v1alpha", "v1", "off"], default="v1alpha")
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--hostile", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(serve_hostile() if arguments.hostile else serve(arguments))


@dataclass
class Running:
    """The service, in its process."""

    process: subprocess.Popen[str]
    port: int
    hostile: dict[str, int]
    """The port of each way to be hostile."""

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """As a crash does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        if self.process.stdout is not None:
            self.process.stdout.close()


def started(*options: str, port: int | None = None) -> Running:
    command = [sys.executable, "-m", "tests.scraper_service", "--port", str(port or 0), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said.startswith("serving"):
        process.kill()
        process.wait(10)
        raise RuntimeError(f"the service did not start: {said!r}")
    ports = [int(each) for each in said.split()[2:]]
    return Running(process, ports[0], dict(zip(HOSTILE, ports, strict=True)) if "--hostile" in options else {})


@contextmanager
def running(*options: str, port: int | None = None) -> Iterator[Running]:
    service = started(*options, port=port)
    try:
        yield service
    finally:
        service.stop()


if __name__ == "__main__":
    main()
