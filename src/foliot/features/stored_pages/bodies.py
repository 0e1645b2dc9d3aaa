"""Bodies of stored pages: compressed, addressed by their digest, in the database, in files or in S3."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from backports import zstd

from foliot.core.errors import Unavailable
from foliot.core.threads import WORK
from foliot.features.stored_pages.model import IN_DATABASE, BodyPlace, StoredBody

LEVEL = 9
_PIECE = 1 << 20


class BodyStore(Protocol):
    """Keeps large bodies outside the database; writing what is there already changes nothing."""

    @property
    def place(self) -> BodyPlace: ...

    async def put(self, name: str, data: bytes) -> None: ...

    async def get(self, name: str) -> bytes: ...

    async def delete(self, name: str) -> None: ...


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def compress(body: bytes) -> bytes:
    return bytes(zstd.compress(body, level=LEVEL))


def decompress(data: bytes, most: int) -> bytes:
    """At most `most` bytes: what was stored is known, so more means that it is not what was stored."""
    body = bytes(zstd.ZstdDecompressor().decompress(data, max_length=most + 1))
    if len(body) > most:
        raise Unavailable("a stored page is larger than it was when it was stored")
    return body


def name_of(tenant_id: str, hash_: str) -> str:
    """The tenant is part of the name by its digest: tenants share nothing, and ids need no escaping."""
    return f"{digest(tenant_id.encode())[:16]}/{hash_[:2]}/{hash_}.zst"


def packed(body: bytes, place: BodyPlace) -> StoredBody:
    """Computes for a while; call it in a thread."""
    data = compress(body)
    small = len(data) <= IN_DATABASE
    return StoredBody(
        hash=digest(body),
        size=len(body),
        stored_bytes=len(data),
        place=BodyPlace.DATABASE if small else place,
        data=data,
    )


@dataclass(frozen=True, slots=True)
class LocalBodies:
    """Files below a directory, written whole or not at all."""

    directory: Path
    place: BodyPlace = BodyPlace.FILES

    async def put(self, name: str, data: bytes) -> None:
        await WORK.run(self._put, name, data)

    def _put(self, name: str, data: bytes) -> None:
        path = self.directory / name
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = path.with_suffix(f".{secrets.token_hex(4)}")
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise Unavailable(f"a page cannot be stored in {self.directory}: {error.strerror}") from None

    async def get(self, name: str) -> bytes:
        try:
            return await WORK.run((self.directory / name).read_bytes)
        except OSError as error:
            raise Unavailable(f"a stored page cannot be read from {self.directory}: {error.strerror}") from None

    async def delete(self, name: str) -> None:
        await WORK.run((self.directory / name).unlink, missing_ok=True)


class S3Bodies:
    """Objects in a bucket, by obstore; its client connects to the operator's address, not through the egress guard."""

    place: BodyPlace = BodyPlace.S3

    def __init__(self, url: str, endpoint: str | None = None) -> None:
        try:
            from obstore.store import S3Store
        except ModuleNotFoundError:
            raise Unavailable(
                "FOLIOT_PAGES_URL needs obstore, which is not installed: pip install 'foliot[s3]'"
            ) from None
        parts = urlsplit(url)
        self._prefix = parts.path.strip("/")
        options: dict[str, Any] = {"client_options": {"timeout": "10s", "connect_timeout": "5s"}}
        if endpoint:
            options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
            options["client_options"]["allow_http"] = endpoint.startswith("http://")
        self._store = S3Store(parts.netloc, retry_config={"max_retries": 3}, **options)

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    async def put(self, name: str, data: bytes) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        try:
            await obstore.put_async(self._store, self._path(name), data, mode="create")
        except AlreadyExistsError:
            return
        except Exception as error:
            raise Unavailable(f"a page cannot be stored in S3: {type(error).__name__}") from error

    async def get(self, name: str) -> bytes:
        import obstore

        try:
            found = await obstore.get_async(self._store, self._path(name))
            return bytes(await found.bytes_async())
        except Exception as error:
            raise Unavailable(f"a stored page cannot be read from S3: {type(error).__name__}") from error

    async def delete(self, name: str) -> None:
        import obstore

        try:
            await obstore.delete_async(self._store, self._path(name))
        except FileNotFoundError:
            return
        except Exception as error:
            raise Unavailable(f"a stored page cannot be deleted from S3: {type(error).__name__}") from error
