"""The definition of a pipeline: its steps, its schedule, and the hash that is its revision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

PIPELINE: Final = "pipeline"
"""Kind of the action."""

Item = dict[str, Any]
"""One item of a chain."""

OnError = Literal["skip", "fail"]
"""Effect of a failed item: it is counted and skipped, or ends the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step of a chain, as in the file."""

    cls: str
    """A short or dotted name in the catalogue; a file cannot cause an import."""
    name: str
    """Unique within the chain; used by progress and logs."""
    kwargs: Mapping[str, Any]
    on_error: OnError = "fail"
    line: int | None = None
    """Line in the file; not part of the revision."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        kept = {"class": self.cls, "name": self.name, "kwargs": dict(self.kwargs), "on_error": self.on_error}
        return kept if self.line is None else {**kept, "line": self.line}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> StepSpec:
        """The reverse of `to_dict`."""
        return cls(
            cls=raw["class"],
            name=raw["name"],
            kwargs=raw.get("kwargs") or {},
            on_error=raw.get("on_error", "fail"),
            line=raw.get("line"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineDefinition:
    """One pipeline."""

    name: str
    steps: tuple[StepSpec, ...]
    draft: Mapping[str, Any] | None
    """The schedule as in a request of the API; None runs it once per revision."""
    on_error: OnError = "fail"
    """Default of its steps."""
    revision: str
    """Short hash of its content: see `revision_of`."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "name": self.name,
            "steps": [step.to_dict() for step in self.steps],
            "draft": None if self.draft is None else dict(self.draft),
            "on_error": self.on_error,
            "revision": self.revision,
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> PipelineDefinition:
        """The reverse of `to_dict`."""
        return cls(
            name=raw["name"],
            steps=tuple(StepSpec.from_dict(step) for step in raw["steps"]),
            draft=raw.get("draft"),
            on_error=raw.get("on_error", "fail"),
            revision=raw["revision"],
        )


def revision_of(steps: Sequence[StepSpec], draft: Mapping[str, Any] | None, on_error: OnError = "fail") -> str:
    """Hash of the content, independent of its place in the file."""
    chain = [{**step.to_dict(), "line": None} for step in steps]
    told = orjson.dumps([chain, draft, on_error], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:12]
