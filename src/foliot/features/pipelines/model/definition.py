"""A pipeline as it is defined: the steps of its chain, and when it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

PIPELINE: Final = "pipeline"
"""The kind of the action."""

Item = dict[str, Any]
"""What flows through a chain."""

OnError = Literal["skip", "fail"]
"""What an item that a step cannot handle does: is counted and left out, or ends the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step of a chain, as it was written."""

    cls: str
    """A short or dotted name out of the catalogue; nothing is imported because a file names it."""
    name: str
    """Its own within the chain: what progress and logs call it."""
    kwargs: Mapping[str, Any]
    on_error: OnError = "fail"
    line: int | None = None
    """Where its file names it; no part of what it means."""

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
    """The "when" in the words in which a schedule is asked for; None runs it once per revision."""
    on_error: OnError = "fail"
    """What its steps do unless they say otherwise."""
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
    """Equal for equal content, wherever in a file it stands."""
    chain = [{**step.to_dict(), "line": None} for step in steps]
    told = orjson.dumps([chain, draft, on_error], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:12]
