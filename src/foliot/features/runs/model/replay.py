"""What a run does when it is sent again: by the settings of its schedule now, or by those it had then.

A run that was given other parameters than its schedule has keeps them, whichever it follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foliot.core.credential import kept
from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.json_limits import check_plain
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.features.schedules.model.document import ActionCheck, read_action


class ReplayVersion(StrEnum):
    """By which settings of its schedule a run is sent again."""

    NOW = "now"
    """As they are; as they were, where the schedule is gone or does something else."""
    THEN = "then"
    """As they were when the run was made."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """On what terms runs are sent again."""

    as_of: ReplayVersion = ReplayVersion.NOW
    patch: Mapping[str, Any] | None = None
    """Laid over what each of them would send."""

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> ReplayOptions:
        """As they were kept."""
        return cls(ReplayVersion(details.get("as_of", ReplayVersion.THEN)), details.get("patch"))

    def details(self) -> dict[str, Any]:
        """In the form in which they are kept."""
        return {"as_of": self.as_of.value} | ({} if self.patch is None else {"patch": dict(self.patch)})


AS_IT_WAS = ReplayOptions(ReplayVersion.THEN)


def gone(kind: str, schedule: Schedule | None) -> str | None:
    """Why a run of this kind cannot follow its schedule as it is now; None when it can."""
    if schedule is None:
        return "it has no schedule"
    if schedule.status is ScheduleStatus.DELETED:
        return "its schedule is deleted"
    if schedule.fault is not None:
        return "its schedule is damaged"
    if schedule.spec.kind != kind:
        return f"its schedule does {schedule.spec.kind} now, and no longer {kind}"
    return None


def own(action: Mapping[str, Any], then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was said for one run alone, where its parameters differ from those of its schedule then, laid over those
    of now: what it was given stays, what was taken from it stays away. None when nothing was."""
    given = {name: value for name, value in action.items() if name not in then or then[name] != value}
    taken = then.keys() - action.keys()
    if not given and not taken:
        return None
    return {name: value for name, value in now.items() if name not in taken} | given


def merged(document: object, patch: object) -> Any:
    """A JSON merge patch (RFC 7396): objects are merged, null takes away, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    made = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made


def edited(kind: str, config: Mapping[str, Any], patch: Mapping[str, Any], check: ActionCheck) -> dict[str, Any]:
    """What is sent with the patch laid over it; `Invalid` says why that cannot be sent."""
    if not config:
        raise Invalid("patch", "has nothing to change: what this one asks for is no payload")
    return read_action("patch", kind, kept("patch", merged(config, patch), config), check)


def read_terms(fields: Fields) -> ReplayOptions:
    """On what terms somebody wants runs sent again."""
    return ReplayOptions(fields.choice("as_of", ReplayVersion, ReplayVersion.NOW), _patch(fields.value("patch")))


def _patch(given: object) -> Mapping[str, Any] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise Invalid("patch", "must be an object: a JSON merge patch of the payload", got=given)
    if "kind" in given:
        raise Invalid("patch", "must not change 'kind': what is sent again does the same kind of thing")
    check_plain("patch", given)
    return given or None
