"""Packs a Scrapy project into an egg, the only format in which Scrapyd accepts spiders."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as BadConfiguration
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from foliot.terminal.output import Exit, Failure

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
