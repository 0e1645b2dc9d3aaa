"""Packs a Scrapy project into an egg and uploads it to the Scrapyd nodes on which it is to run."""

from __future__ import annotations

import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as BadConfiguration
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import uuid4

from foliot.terminal.output import Exit, Failure

if TYPE_CHECKING:
    from http.client import HTTPConnection


CONFIGURATION = "scrapy.cfg"
_LEFT_OUT = {"__pycache__", "build", "dist"}
_COMPILED = {".pyc", ".pyo"}
# Fixed, so that the same sources are the same bytes.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Project:
    """A Scrapy project: its directory, its name at Scrapyd, and the module of its settings."""

    directory: Path
    name: str
    settings: str

    @classmethod
    def read(cls, directory: Path, name: str | None = None) -> Project:
        """From its `scrapy.cfg`; `name` wins over the one written there."""
        file = directory / CONFIGURATION
        if not file.is_file():
            raise Failure(
                f"{directory}: has no {CONFIGURATION}, so it is not a Scrapy project; give the directory that has one",
                Exit.USAGE,
            )
        parser = ConfigParser(interpolation=None)
        try:
            parser.read_string(file.read_text())
        except (BadConfiguration, UnicodeDecodeError) as wrong:
            raise Failure(f"{file}: cannot be read: {str(wrong).splitlines()[0]}", Exit.USAGE) from None
        settings = parser.get("settings", "default", fallback="")
        if not settings:
            raise Failure(f"{file}: must name its settings, as in [settings] default = mybot.settings", Exit.USAGE)
        name = name or parser.get("deploy", "project", fallback="")
        if not name:
            raise Failure(
                f"{file}: must name the project, as in [deploy] project = DiscoveryBot; or give --project", Exit.USAGE
            )
        return cls(directory, name, settings)

    def egg(self, version: str) -> bytes:
        """All packages beside `scrapy.cfg`, with the metadata that `pkg_resources` needs."""
        files = {file.relative_to(self.directory).as_posix(): file for file in self._files()}
        packages = sorted({name.partition("/")[0].removesuffix(".py") for name in files})
        wanted = self.settings.partition(".")[0]
        if wanted not in packages:
            raise Failure(f"{self.directory}: has no package {wanted}, which {CONFIGURATION} names", Exit.USAGE)
        about = {
            "PKG-INFO": f"Metadata-Version: 1.0\nName: {self.name}\nVersion: {version}\n",
            "entry_points.txt": f"[scrapy]\nsettings = {self.settings}\n",
            "top_level.txt": "".join(f"{package}\n" for package in packages),
            "zip-safe": "\n",
        }
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as egg:
            for name, text in about.items():
                egg.writestr(_entry(f"EGG-INFO/{name}"), text)
            for name, file in sorted(files.items()):
                egg.writestr(_entry(name), file.read_bytes())
        return packed.getvalue()

    def _files(self) -> Iterator[Path]:
        """Modules and packages with all their files; symbolic links are not followed."""
        for entry in self.directory.iterdir():
            if entry.is_symlink() or entry.name in _LEFT_OUT:
                continue
            if entry.suffix == ".py" and entry.name != "setup.py":
                yield entry
            elif (entry / "__init__.py").is_file():
                yield from _below(entry)


def _below(package: Path) -> Iterator[Path]:
    for entry in package.iterdir():
        if entry.is_symlink() or entry.name in _LEFT_OUT or entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.suffix not in _COMPILED:
            yield entry


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _MOMENT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _MODE
    return entry


# Scrapyd starts a process that imports the project before it answers.
TIMEOUT = 120
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_VERSION = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """The answer of one Scrapyd to an upload. `error` is None where it was accepted."""

    node: str
    project: str
    version: str
    spiders: int = 0
    error: str | None = None


def deploy(
    directory: Path, nodes: Sequence[str], *, now: datetime, project: str | None = None, version: str | None = None
) -> list[Deployed]:
    """Upload the project in `directory` to each Scrapyd; a failure at one does not stop the others.

    Scrapyd runs the highest version; the default is the current time, so that the last upload is the one that runs.
    """
    package = Project.read(directory, project)
    version = version or f"{now:%Y%m%d%H%M%S}"
    if not _NAME.fullmatch(package.name):
        raise Failure(f"project: must be 1 to 64 letters, digits or _, got {package.name!r}", Exit.USAGE)
    if not _VERSION.fullmatch(version):
        raise Failure(f"version: must be 1 to 64 letters, digits, _ or -, got {version!r}", Exit.USAGE)
    if not nodes:
        raise Failure("no Scrapyd to deploy to: set SCRAPYD_URL, or name one with --node", Exit.USAGE)
    addresses = [node_address(node) for node in nodes]
    egg = package.egg(version)
    return [_upload(address, package.name, version, egg) for address in addresses]


def _upload(address: SplitResult, project: str, version: str, egg: bytes) -> Deployed:
    from http.client import HTTPException

    upload = Deployed(node=_shown(address), project=project, version=version)
    boundary = uuid4().hex
    body = _form(boundary, {"project": project, "version": version}, egg)
    connection = node_connection(address)
    try:
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"} | node_authorization(address)
        connection.request("POST", f"{address.path.rstrip('/')}/addversion.json", body=body, headers=headers)
        response = connection.getresponse()
        return _read_answer(upload, response.status, response.read())
    except (OSError, HTTPException) as failed:
        return _failed(upload, f"no answer: {getattr(failed, 'strerror', None) or failed}")
    finally:
        connection.close()


def _read_answer(upload: Deployed, status: int, body: bytes) -> Deployed:
    """Scrapyd answers `error` with status 200; the reason is the last line of a traceback."""
    if status == 401:
        return _failed(upload, "it requires a user and a password, as in http://user:password@host:6800")
    try:
        answer: Any = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or answer.get("status") not in ("ok", "error"):
        return _failed(upload, f"it answered {status}, but not like a Scrapyd: is this the address of one?")
    if answer["status"] == "error":
        lines = [line for line in str(answer.get("message", "")).splitlines() if line.strip()]
        return _failed(upload, lines[-1].strip() if lines else "it gave no reason")
    spiders = answer.get("spiders")
    return Deployed(
        node=upload.node,
        project=upload.project,
        version=upload.version,
        spiders=spiders if isinstance(spiders, int) else 0,
    )


def _failed(upload: Deployed, reason: str) -> Deployed:
    return Deployed(node=upload.node, project=upload.project, version=upload.version, error=reason)


def _form(boundary: str, fields: Mapping[str, str], egg: bytes) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="egg"; filename="project.egg"\r\n'
    head += "Content-Type: application/octet-stream\r\n\r\n"
    return b"".join([*parts, head.encode(), egg, f"\r\n--{boundary}--\r\n".encode()])


def node_address(node: str) -> SplitResult:
    try:
        address = urlsplit(node)
        _ = address.port
    except ValueError:
        address = urlsplit("")
    if address.scheme not in ("http", "https") or not address.hostname:
        # Not repeated: it may hold a password.
        raise Failure("node: must be the address of a Scrapyd, such as http://127.0.0.1:6800", Exit.USAGE)
    return address


def node_connection(address: SplitResult) -> HTTPConnection:
    from http.client import HTTPConnection, HTTPSConnection

    assert address.hostname is not None  # noqa: S101 -- node_address checked it
    if address.scheme == "https":
        import ssl

        context = ssl.create_default_context()
        return HTTPSConnection(address.hostname, address.port, timeout=TIMEOUT, context=context)
    return HTTPConnection(address.hostname, address.port, timeout=TIMEOUT)


def node_authorization(address: SplitResult) -> dict[str, str]:
    if address.username is None:
        return {}
    known = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {b64encode(known.encode()).decode()}"}


def _shown(address: SplitResult) -> str:
    """Without the password."""
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}".rstrip("/")
