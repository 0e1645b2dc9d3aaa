"""Limits for HTML pages and selectors, checked by counting before anything is parsed."""

from __future__ import annotations

import re

MOST_TAGS = 250_000
"""Of a page that is searched by selectors."""
MOST_COMBINATORS = 50
"""Length of one alternative of a selector; what browsers copy out has a dozen parts or two."""
MOST_SIBLINGS = 2
"""`~` in one alternative: each one scans all following siblings of every element found so far."""
MOST_NESTED = 3
"""Predicates of an XPath inside one another: each is evaluated for all that the one around it looks at."""

NOT_WEB = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"})
"""Python codecs that no page uses: host names and source text, some of them with quadratic cost."""

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]")
STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_SIDEWAYS = re.compile(r"\b(?:following|preceding)(?:-sibling)?\s*::")
_COMBINATOR = re.compile(r"\s*[>+~]\s*|\s+")


class TooMuch(ValueError):
    """A limit was exceeded; the message says which."""


def count_tags(page: bytes | str, most: int = MOST_TAGS) -> int:
    """The number of tags of a page; `TooMuch` above the limit."""
    tags = page.count(b"<" if isinstance(page, bytes) else "<")  # type: ignore[arg-type]
    if tags > most:
        raise TooMuch(f"it has {tags:,} tags, and at most {most:,} are read")
    return tags


def check_selector(selector: str) -> str:
    """Checks that a selector can be evaluated in time; `TooMuch` otherwise."""
    for alternative in _QUOTED.sub("", selector).split(","):
        combinators = [one.strip() for one in _COMBINATOR.findall(alternative.strip())]
        if len(combinators) > MOST_COMBINATORS:
            raise TooMuch(f"has {len(combinators)} combinators, and may have {MOST_COMBINATORS}")
        if combinators.count("~") > MOST_SIBLINGS:
            raise TooMuch(f"has {combinators.count('~')} times ~, and may have it {MOST_SIBLINGS} times")
    return selector


def check_xpath(path: str) -> str:
    """An XPath that can be evaluated in time; `TooMuch` otherwise."""
    bare = STRING.sub("", path)
    steps = bare.replace("//", "/").count("/")
    if steps > MOST_COMBINATORS:
        raise TooMuch(f"has {steps} steps, and may have {MOST_COMBINATORS}")
    if (sideways := len(_SIDEWAYS.findall(bare))) > MOST_SIBLINGS:
        raise TooMuch(f"looks {sideways} times along following or preceding nodes, and may {MOST_SIBLINGS} times")
    depth = deepest = 0
    for sign in bare:
        depth += (sign == "[") - (sign == "]")
        deepest = max(deepest, depth)
    if deepest > MOST_NESTED:
        raise TooMuch(f"has predicates {deepest} deep, and may have them {MOST_NESTED} deep")
    return path
