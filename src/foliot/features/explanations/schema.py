"""The answer of an explanation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.features.explanations.model.facts import Explanation, FactCode


@declared
class ExplainedFact:
    """One fact about a run or a scheduled time."""

    at: datetime | None
    """When it happened; null for what holds now."""
    code: FactCode
    words: str
    proof: Mapping[str, Any]
    """What shows it: ids of runs, schedules and audit entries, a range of the ledger, a version."""


@declared
class ExplanationAnswer:
    """Why a run happened, waits or failed, or why a time has no run."""

    summary: str
    """One paragraph."""
    facts: list[ExplainedFact]

    @classmethod
    def of(cls, explanation: Explanation) -> ExplanationAnswer:
        return cls(
            summary=explanation.summary,
            facts=[
                ExplainedFact(at=one.at, code=one.code, words=one.words, proof=one.proof) for one in explanation.facts
            ],
        )
