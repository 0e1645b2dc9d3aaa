"""Decides what a replayed run does: by its schedule's settings now, or by those it had when the run was created.

Parameters that were overridden for one run are kept, whichever settings it follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from foliot.core.declaration import Parsed
from foliot.core.errors import Invalid
from foliot.core.json_values import check_plain
from foliot.core.secrets import kept
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.features.schedules.model.document import ActionCheck, read_action


class ReplayVersion(StrEnum):
    """Which settings of its schedule a replayed run follows."""

    NOW = "now"
    """The present ones; the old ones where the schedule is gone, damaged, or has another kind of action."""
    THEN = "then"
    """Those of the version the run was created from."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of a replay."""

    as_of: ReplayVersion = ReplayVersion.NOW
    patch: Mapping[str, Any] | None = None
    """A merge patch applied to what each of them would send."""

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> ReplayOptions:
        """From their stored form."""
        return cls(ReplayVersion(details.get("as_of", ReplayVersion.THEN)), details.get("patch"))

    def details(self) -> dict[str, Any]:
        """In their stored form."""
        return {"as_of": self.as_of.value} | ({} if self.patch is None else {"patch": dict(self.patch)})


AS_IT_WAS = ReplayOptions(ReplayVersion.THEN)


def gone(kind: str, schedule: Schedule | None) -> str | None:
    """Why a run of this kind cannot follow its schedule's present settings; None when it can."""
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
    """The overrides of one run: where its parameters differ from those of its schedule then, applied to those of now.
    Parameters that were added stay, those that were removed stay removed. None when nothing was overridden."""
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
    """The configuration with the patch applied; `Invalid` says why it cannot be sent."""
    if not config:
        raise Invalid("patch", "has nothing to change: what this one asks for is no payload")
    return read_action("patch", kind, kept("patch", merged(config, patch), config), check)


def _patch(path: str, given: object) -> dict[str, Any] | None:
    if not isinstance(given, Mapping):
        raise Invalid(path, "must be an object: a JSON merge patch of the payload", got=given)
    if "kind" in given:
        raise Invalid(path, "must not change 'kind': what is sent again does the same kind of thing")
    check_plain(path, given)
    return dict(given) or None


AS_OF = (
    "By the settings of their schedule `now` (as they were, where it is gone or does something else), or by those of "
    "`then`. What a run was given for itself alone stays in both."
)
PATCH = "A JSON merge patch (RFC 7396) laid over the payload of each."
MergePatch = Annotated[dict[str, Any] | None, Parsed(_patch)]
"""The merge patch of a replay request."""
