"""The methods of services, built from the descriptors of server reflection, and a cache of them.

Errors of a service that does answer, as a tree.

ServiceError
├── NoReflection           it has no server reflection
├── BadDescriptors         its descriptors cannot be read, or are too large
├── BadAnswer              an answer is not the method's response message
└── ServiceAnswerTooLarge  the answer is larger than a run's result may be

All are permanent: an attempt that meets one is not retried.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.core.threads import WORK
from foliot.features.grpc_calls.config import MethodName
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcAnswers, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress


class ServiceError(Exception):
    """The message is a sentence that begins with the service's name."""

    code = "trouble"


class NoReflection(ServiceError):
    """The service has no server reflection."""

    code = "no_reflection"

    def __init__(self) -> None:
        super().__init__("has no server reflection, which is needed to find its methods and messages; enable it there")


class BadDescriptors(ServiceError):
    """The service's descriptors cannot be read, or are too large."""

    code = "bad_descriptors"

    def __init__(self, what: str) -> None:
        super().__init__(f"describes itself by reflection in a way that cannot be read: {what}")


class BadAnswer(ServiceError):
    """An answer is not the method's response message."""

    code = "bad_answer"

    def __init__(self, what: str) -> None:
        super().__init__(f"answered OK, but {what}")


class ServiceAnswerTooLarge(ServiceError):
    """The answer is larger than a run's result may be."""

    code = "answer_too_large"

    def __init__(self, what: str) -> None:
        super().__init__(f"sent too much: {what}")


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
        raise BadDescriptors("its files import each other in an endless chain")

    async def _ask(self, questions: Sequence[ServerReflectionRequest]) -> list[ServerReflectionResponse]:
        if not questions:
            return []
        answers = await self._call([question.SerializeToString() for question in questions])
        try:
            read = [ServerReflectionResponse.FromString(answer) for answer in answers.messages]
        except DecodeError:
            raise BadDescriptors("its answer to a reflection request is not valid") from None
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
                raise BadDescriptors("it does not provide a file or a service that it listed itself")
            for raw in answer.file_descriptor_response.file_descriptor_proto:
                self._keep_file(raw)

    def _keep_file(self, raw: bytes) -> None:
        try:
            file = FileDescriptorProto.FromString(raw)
        except DecodeError:
            raise BadDescriptors("one of its files is not a file descriptor") from None
        if file.name in self.files:
            return
        self.files[file.name] = raw
        self.wanted.update(file.dependency)
        self.size += len(raw)
        if len(self.files) > MOST_FILES or self.size > MOST_BYTES:
            raise BadDescriptors(f"its interface has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")


HOUSEKEEPING = "grpc."
"""Prefix of the services that every server has; a method without its service never means one of these."""
_NAMED = 20
KEPT = timedelta(minutes=5)
"""After this a catalogue is fetched again: behind a load balancer a service may change while the connection stays."""
RECENT = timedelta(seconds=1)
"""A catalogue younger than this is not fetched again because of an unknown method or field."""
PATIENCE = timedelta(seconds=10)
"""Timeout of server reflection."""


@dataclass(frozen=True, slots=True)
class ServiceMethod:
    """A method, with the descriptors of its messages."""

    path: str
    takes: Descriptor
    gives: Descriptor
    streams: bool
    """Whether it is server-streaming."""
    pool: DescriptorPool


@dataclass(frozen=True, slots=True)
class ServiceCatalogue:
    """Every method of a service, by fully qualified service name and method name."""

    described: ServiceDescription
    pool: DescriptorPool
    methods: Mapping[tuple[str, str], Any]

    @classmethod
    def of(cls, described: ServiceDescription) -> ServiceCatalogue:
        pool = DescriptorPool()
        for name in _in_order(described.files):
            try:
                pool.AddSerializedFile(described.files[name])
            except (TypeError, ValueError, KeyError):
                raise BadDescriptors(f"its file {name[:100]!r} contradicts itself or another") from None
        methods = {}
        for service in described.services:
            try:
                descriptor = pool.FindServiceByName(service)
            except KeyError:
                raise BadDescriptors(f"its files do not contain its service {service[:100]!r}") from None
            methods.update({(service, method.name): method for method in descriptor.methods})
        return cls(described, pool, methods)

    @property
    def names(self) -> list[str]:
        """Every method, as `package.Service/ServiceMethod`."""
        return sorted(f"{service}/{name}" for service, name in self.methods if not service.startswith(HOUSEKEEPING))

    def only(self, allows: Callable[[str], bool]) -> ServiceCatalogue:
        """Without the methods that may not be called; they are given as `/package.Service/ServiceMethod`."""
        return replace(self, methods={one: it for one, it in self.methods.items() if allows(f"/{one[0]}/{one[1]}")})

    def find(self, wanted: MethodName) -> ServiceMethod:
        """`Invalid` when there is no such method, or the name is ambiguous."""
        matches = [
            (service, name)
            for service, name in self.methods
            if name == wanted.method
            and wanted.is_of(service)
            and (wanted.service is not None or not service.startswith(HOUSEKEEPING))
        ]
        exact = [each for each in matches if each[0] == wanted.service]
        match exact or matches:
            case [(service, name)]:
                return self._method(service, name)
            case []:
                raise Invalid("target_method", self._unknown(wanted), got=_text(wanted))
            case several:
                known = ", ".join(f"{service}/{name}" for service, name in sorted(several)[:_NAMED])
                raise Invalid("target_method", f"must name the service too: {known}", got=_text(wanted))

    def _method(self, service: str, name: str) -> ServiceMethod:
        descriptor = self.methods[service, name]
        if descriptor.client_streaming:
            rule = "must be a method that takes one message; this one takes a stream"
            raise Invalid("target_method", rule, got=f"{service}/{name}")
        return ServiceMethod(
            path=f"/{service}/{name}",
            takes=descriptor.input_type,
            gives=descriptor.output_type,
            streams=descriptor.server_streaming,
            pool=self.pool,
        )

    def _unknown(self, wanted: MethodName) -> str:
        known = self.names
        if not known:
            return "must be a method of the service, which has none"
        near = difflib.get_close_matches(wanted.method, [name for _, name in self.methods], n=1)
        hint = f"did you mean {near[0]}? It has" if near else "it has"
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        return f"must be a method of the service; {hint} {', '.join(known[:_NAMED])}{more}"


def _text(wanted: MethodName) -> str:
    return wanted.method if wanted.service is None else f"{wanted.service}/{wanted.method}"


def _in_order(files: Mapping[str, bytes]) -> Sequence[str]:
    """Topological order of imports, without recursion: the server chooses how deep they nest."""
    needs = {name: set(FileDescriptorProto.FromString(raw).dependency) for name, raw in files.items()}
    ordered: list[str] = []
    while needs:
        free = sorted(name for name, wanted in needs.items() if not wanted & needs.keys())
        if not free:
            raise BadDescriptors("its files import each other in a circle")
        ordered += free
        for name in free:
            del needs[name]
    return ordered


@dataclass(slots=True)
class _CachedCatalogue:
    catalogue: ServiceCatalogue
    line: int
    asked_at: float


@dataclass(slots=True)
class ServiceCatalogues:
    """One catalogue per service. Concurrent requests for the same one share one fetch."""

    calls: GrpcEgress
    clock: Clock
    _kept: dict[str, _CachedCatalogue] = field(default_factory=dict)
    _asking: dict[str, asyncio.Task[ServiceCatalogue]] = field(default_factory=dict)

    async def of(self, service: str) -> ServiceCatalogue:
        """The cached one, or a new one when that has expired or the connection has changed."""
        entry = self._kept.get(service)
        if entry is not None and self._is_fresh(service, entry):
            return entry.catalogue
        return await self.anew(service)

    async def newer(self, service: str, than: ServiceCatalogue) -> ServiceCatalogue | None:
        """A catalogue fetched now, if it differs from `than`; for a method or field that was not found in that."""
        entry = self._kept.get(service)
        if entry is not None and entry.catalogue is than and self._age(entry) < RECENT.total_seconds():
            return None
        catalogue = await self.anew(service)
        return None if catalogue is than else catalogue

    async def anew(self, service: str) -> ServiceCatalogue:
        """Fetches the catalogue; returns the cached object when nothing has changed."""
        if service not in self._asking:
            asking = asyncio.create_task(self._ask(service))
            self._asking[service] = asking
            asking.add_done_callback(lambda _: self._asked(service, asking))
        # The fetch goes on when one of its waiters is cancelled.
        return await asyncio.shield(self._asking[service])

    def _is_fresh(self, service: str, entry: _CachedCatalogue) -> bool:
        return self._age(entry) < KEPT.total_seconds() and self.calls.line_of(service) == entry.line

    def _age(self, entry: _CachedCatalogue) -> float:
        return self.clock.monotonic() - entry.asked_at

    async def _ask(self, service: str) -> ServiceCatalogue:
        asked_at = self.clock.monotonic()
        asking = ReflectionClient(self.calls, service, PATIENCE)
        described = await asking.describe()
        before = self._kept.get(service)
        if before is not None and before.catalogue.described == described:
            catalogue = before.catalogue
        else:
            catalogue = await WORK.run(ServiceCatalogue.of, described)
        self._kept[service] = _CachedCatalogue(catalogue, asking.line, asked_at)
        return catalogue

    def _asked(self, service: str, asking: asyncio.Task[ServiceCatalogue]) -> None:
        del self._asking[service]
        if not asking.cancelled():
            asking.exception()  # retrieved, so that asyncio does not warn when every waiter has gone
