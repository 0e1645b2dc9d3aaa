"""Parses HTML and makes text of it: one line for each block, with single spaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_TEXT = 500_000
"""Characters of a page's text that are compared."""
_BLOCKS = frozenset(
    (  # noqa: SIM905 -- one name per line would be longer than the module
        "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
        " header hr li main nav ol option p pre section table tbody td tfoot th thead title tr ul"
    ).split()
)
_SILENT = frozenset(["script", "style", "noscript", "template", "svg", "head", "iframe"])


def parsed(source: str) -> Any:
    from lxml import etree, html

    try:
        # Without network access and with the parser's limit on depth.
        parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
        return html.document_fromstring(source.encode("utf-8", "replace") or b"<html></html>", parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return html.document_fromstring(b"<html></html>")


def text_of(root: Any) -> str:
    """The visible text, one line for each block, with single spaces."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(root):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_TEXT:
            break
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _pieces(root: Any) -> Iterator[str]:
    from lxml import etree

    silent = 0
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            quiet = element.tag in _SILENT
            silent += quiet
            if silent:
                continue
            if element.tag in _BLOCKS:
                yield "\n"
            if element.text:
                yield element.text.replace("\n", " ")
            continue
        if event == "end":
            silent -= element.tag in _SILENT
            if not silent and element.tag in _BLOCKS:
                yield "\n"
        if not silent and element.tail and element is not root:
            yield element.tail.replace("\n", " ")
