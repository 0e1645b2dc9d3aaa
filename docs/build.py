"""Builds the documentation as a site that works offline: pages of this folder, of the repository and of examples/.

python docs/build.py [DIRECTORY]        (default: dist/site)
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PROJECT = ("README.md", "CHANGELOG.md", "UPGRADING.md", "SECURITY.md", "CONTRIBUTING.md")
"""Pages of the repository that the site has too, below `project/`."""
SHOWN = {".py": "python", ".yml": "yaml", ".cfg": "ini", ".json": "json", ".txt": "text", ".md": "markdown"}
"""Files of examples/ that are shown, with the language of their code."""

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)

CONFIG = {
    "site_name": "Foliot",
    "site_description": "Scheduling for people who scrape and monitor the web",
    "use_directory_urls": False,
    "theme": {
        # Else pages ask another host for their fonts.
        "font": False,
        "features": [
            "content.code.copy",
            "navigation.indexes",
            "navigation.tabs",
            "navigation.top",
            "search.highlight",
            "toc.follow",
        ],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "toggle": {"icon": "lucide/sun", "name": "Dark mode"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "toggle": {"icon": "lucide/moon", "name": "Light mode"},
            },
        ],
    },
    "plugins": ["search"],
    "markdown_extensions": [
        "tables",
        "attr_list",
        "pymdownx.highlight",
        "pymdownx.superfences",
        {"toc": {"permalink": True}},
    ],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "dist" / "site")
    target: Path = parser.parse_args().directory.resolve()
    with tempfile.TemporaryDirectory(prefix="foliot-docs-") as scratch:
        stage(Path(scratch))
        built = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
            cwd=scratch,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            print(built.stdout, built.stderr, sep="\n", file=sys.stderr)
            return 1
        broken = list(broken_links(Path(scratch) / "site"))
        for line in broken:
            print(line, file=sys.stderr)
        if broken:
            return 1
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(scratch) / "site", target)
    print(f"{len(list(target.rglob('*.html')))} pages; open {target / 'index.html'}")
    return 0


def stage(scratch: Path) -> None:
    """Everything that the site has, below one folder, with links that stay inside it."""
    pages = scratch / "docs"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (pages / "project").mkdir()
    for name in PROJECT:
        (pages / "project" / name.lower()).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    sources = {pages / "project" / name.lower(): ROOT / name for name in PROJECT}
    sources |= {page: DOCS / page.relative_to(pages) for page in pages.rglob("*.md") if page not in sources}
    for page, source in sources.items():
        text = page.read_text(encoding="utf-8")
        page.write_text(_LINK.sub(partial(_relinked, page=page, source=source, pages=pages), text), encoding="utf-8")
    config = {**CONFIG, "nav": _navigation()}
    (scratch / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def _relinked(found: re.Match[str], page: Path, source: Path, pages: Path) -> str:
    """A link as the staged page must have it: files of the repository become pages of the site."""
    link = found[2]
    if re.match(r"[a-z]+:|#", link):
        return found[0]
    path, _, anchor = link.partition("#")
    linked = (source.parent / path).resolve()
    if not linked.exists():
        return found[0]
    if linked.is_relative_to(DOCS):
        there = pages / linked.relative_to(DOCS)
    elif linked.name in PROJECT and linked.parent == ROOT:
        there = pages / "project" / linked.name.lower()
    else:
        there = _code_page(linked, pages)
    relative = os.path.relpath(there, page.parent)
    return f"{found[1]}{relative}{'#' + anchor if anchor else ''}{found[3]}"


def _code_page(linked: Path, pages: Path) -> Path:
    """A page that shows a file of the repository, or the files of a folder."""
    relative = linked.relative_to(ROOT)
    page = pages / "project" / f"{'-'.join(relative.parts).replace('.', '-')}.md"
    files = [linked] if linked.is_file() else sorted(one for one in linked.rglob("*") if one.suffix in SHOWN)
    parts = [f"# {relative}\n"]
    for file in files:
        title = "" if file == linked else f"\n## {file.relative_to(linked)}\n"
        language = SHOWN.get(file.suffix, "text")
        parts.append(f"{title}\n~~~~~ {language}\n{file.read_text(encoding='utf-8').rstrip()}\n~~~~~\n")
    page.write_text("".join(parts), encoding="utf-8")
    return page


def _navigation() -> list[object]:
    """The sections of the index and their pages; decisions and pages of the repository behind them."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    nav: list[object] = [{"Home": "index.md"}]
    parts = _SECTION.split(text)[1:]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        rows = [(name, path) for name, path in _ROW.findall(body) if not path.startswith("..")]
        nav.append({title: [{name: path} for name, path in rows]})
    decisions = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    nav.append({"Decisions": ["decisions/README.md", *(f"decisions/{one.name}" for one in decisions)]})
    nav.append({"Project": [{name.removesuffix(".md").capitalize(): f"project/{name.lower()}"} for name in PROJECT]})
    return nav


class _Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if anchor := given.get("id"):
            self.anchors.add(anchor)
        for name in ("href", "src"):
            if link := given.get(name):
                self.links.append(link)


def broken_links(site: Path) -> Iterator[str]:
    """Links and anchors inside the site that lead nowhere, and requests to other hosts."""
    pages = {page.resolve(): _Page(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    for page, parsed in pages.items():
        if page.name == "404.html":
            # Its links are absolute: it answers at any address.
            continue
        for link in dict.fromkeys(parsed.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not there.exists():
                yield f"{page.relative_to(site.resolve())}: {link} does not exist"
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                yield f"{page.relative_to(site.resolve())}: {link} has no such anchor"


if __name__ == "__main__":
    sys.exit(main())
