"""A client of gRPC server reflection: fetches the descriptors of a service's methods and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from foliot.features.grpc_calls.errors import BadDescriptors, NoReflection
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcAnswers, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress

# The two versions have the same messages; older servers know only the first, newer ones may know only the second.
PATHS = (
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
)
OWN = "grpc.reflection."
MOST_SERVICES = 200
MOST_FILES = 1000
MOST_BYTES = 4 * 1024 * 1024
_ROUNDS = 32


@dataclass(frozen=True, slots=True)
class ServiceDescription:
    """The answer of server reflection: the serialised file descriptors, and the names of the services."""

    services: tuple[str, ...]
    files: dict[str, bytes]


@dataclass(slots=True)
class ReflectionClient:
    """One reflection stream to one service."""

    calls: GrpcEgress
    service: str
    timeout: timedelta
    paths: tuple[str, ...] = PATHS
    line: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    size: int = 0

    async def describe(self) -> ServiceDescription:
        """Every service, with the file descriptors of its messages."""
        (listed,) = await self._ask([ServerReflectionRequest(list_services="*")])
        services = [each.name for each in listed.list_services_response.service]
        names = tuple(sorted(name for name in services if not name.startswith(OWN)))
        if len(names) > MOST_SERVICES:
            raise BadDescriptors(f"it has {len(names)} services; at most {MOST_SERVICES} are read")
        self._keep(await self._ask([ServerReflectionRequest(file_containing_symbol=name) for name in names]))
        for _ in range(_ROUNDS):
            missing = sorted(self.wanted - self.files.keys())
            if not missing:
                return ServiceDescription(names, self.files)
            self._keep(await self._ask([ServerReflectionRequest(file_by_filename=name) for name in missing]))
        raise BadDescriptors("its files import each other without an end")

    async def _ask(self, questions: Sequence[ServerReflectionRequest]) -> list[ServerReflectionResponse]:
        if not questions:
            return []
        answers = await self._call([question.SerializeToString() for question in questions])
        try:
            read = [ServerReflectionResponse.FromString(answer) for answer in answers.messages]
        except DecodeError:
            raise BadDescriptors("its answer to a question by reflection is no such answer") from None
        if len(read) != len(questions):
            raise BadDescriptors(f"it gave {len(read)} answers to {len(questions)} questions")
        self.line = answers.line
        return read

    async def _call(self, questions: Sequence[bytes]) -> GrpcAnswers:
        for path in self.paths:
            try:
                answers = await self.calls.call(
                    GrpcRequest(
                        service=self.service, path=path, messages=questions, timeout=self.timeout, most=MOST_BYTES
                    )
                )
            except CallFailed as failed:
                if failed.status is not CallStatus.UNIMPLEMENTED:
                    raise
            else:
                self.paths = (path,)
                return answers
        raise NoReflection

    def _keep(self, answers: Iterable[ServerReflectionResponse]) -> None:
        for answer in answers:
            if answer.HasField("error_response"):
                raise BadDescriptors("it does not know a file or a service that it named itself")
            for raw in answer.file_descriptor_response.file_descriptor_proto:
                self._keep_file(raw)

    def _keep_file(self, raw: bytes) -> None:
        try:
            file = FileDescriptorProto.FromString(raw)
        except DecodeError:
            raise BadDescriptors("one of its files is no file descriptor") from None
        if file.name in self.files:
            return
        self.files[file.name] = raw
        self.wanted.update(file.dependency)
        self.size += len(raw)
        if len(self.files) > MOST_FILES or self.size > MOST_BYTES:
            raise BadDescriptors(f"its interface has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
