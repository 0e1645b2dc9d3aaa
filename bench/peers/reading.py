"""Reads pages as the manual of trafilatura has it: fast, with metadata, without comments."""

from __future__ import annotations

from typing import Any


def library(page: str, url: str) -> str | None:
    """The text of the page, if it has one."""
    from trafilatura import bare_extraction

    found: Any = bare_extraction(page, url=url, with_metadata=True, include_comments=False, fast=True)
    return None if found is None else found.text
