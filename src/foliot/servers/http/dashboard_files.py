"""Serves the dashboard: the files of its build, and `index.html` for every address that is one of its pages."""

from __future__ import annotations

import mimetypes
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

INDEX = "index.html"
ASSETS = "assets/"
"""File names in here contain a digest of the content, so they can be cached for ever."""
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
"""Encodings that the build may have compressed files with, best first."""
FOR_EVER, EACH_TIME = "public, max-age=31536000, immutable", "no-cache"

# Scripts come from our own files alone. Inline styles are allowed, for some components write them. Images and small
# fonts may be embedded (`data:`), and a download is created by the page (`blob:`).
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_PLAIN_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = {
    "Cache-Control": EACH_TIME,
    "X-Frame-Options": "DENY",
    # An address of ours can contain the code of a login link: it must not leak in the Referer header.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class BuildFile:
    """One file of the build, with its compressed variants."""

    path: Path
    media_type: str
    compressed: Mapping[str, Path]
    lasting: bool


@dataclass(slots=True)
class DashboardBuild:
    """The files of a build, listed in advance: a request is a look-up by name, so no path leaves the directory."""

    root: Path
    _files: Mapping[str, BuildFile] = field(init=False, default_factory=dict)
    _seen: int | None = field(init=False, default=None)

    def find(self, name: str) -> BuildFile | None:
        """The file; after a new build while the server runs, the new one."""
        try:
            mtime = (self.root / INDEX).stat().st_mtime_ns
        except OSError:
            mtime = None
        if mtime != self._seen:
            self._files, self._seen = ({} if mtime is None else _listed(self.root)), mtime
        return self._files.get(name)


@dataclass(slots=True)
class Dashboard:
    """ASGI middleware that serves the dashboard's addresses and passes all others to the routes."""

    app: ASGIApp
    root: Path | None = None
    """The directory of the build; None or an empty one: a plain page says so."""
    taken: Collection[str] = ()
    """First segments of paths that belong to routes."""
    _build: DashboardBuild | None = field(init=False)

    def __post_init__(self) -> None:
        self._build = None if self.root is None else DashboardBuild(self.root)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(scope) if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} else None
        await (answer or self.app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        name = scope["path"].removeprefix("/")
        headers = Headers(scope=scope)
        if name.partition("/")[0] in self.taken:
            return None
        if name and (file := self._find(name)) is not None:
            return _file(file, headers)
        # Only a browser accepts text/html; any other client gets a 404.
        if name not in {"", INDEX} and "text/html" not in headers.get("accept", ""):
            return None
        index = self._find(INDEX)
        return _plain(404 if name else 200) if index is None else _file(index, headers)

    def _find(self, name: str) -> BuildFile | None:
        return None if self._build is None else self._build.find(name)


def _listed(root: Path) -> dict[str, BuildFile]:
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: BuildFile(
            path=path,
            media_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
            compressed={coding: paths[name + end] for coding, end in ENCODINGS if name + end in paths},
            lasting=name.startswith(ASSETS),
        )
        for name, path in paths.items()
        if not name.endswith(tuple(end for _, end in ENCODINGS))
    }


def _file(file: BuildFile, asked: Headers) -> Response:
    accepted = {part.partition(";")[0].strip() for part in asked.get("accept-encoding", "").split(",")}
    coding = next((coding for coding in file.compressed if coding in accepted), None)
    headers = {"Cache-Control": FOR_EVER} if file.lasting else {"Cache-Control": EACH_TIME}
    if file.media_type == "text/html":
        headers = _PAGE | {"Content-Security-Policy": POLICY}
    if file.compressed:
        headers["Vary"] = "Accept-Encoding"
    if coding is not None:
        headers["Content-Encoding"] = coding
    return FileResponse(
        file.path if coding is None else file.compressed[coding], headers=headers, media_type=file.media_type
    )


def _plain(status: int) -> Response:
    return HTMLResponse(_plain_page(), status, _PAGE | {"Content-Security-Policy": _PLAIN_POLICY})


@lru_cache(maxsize=1)
def _plain_page() -> str:
    return (files("foliot.servers.http") / "plain.html").read_text(encoding="utf-8")
