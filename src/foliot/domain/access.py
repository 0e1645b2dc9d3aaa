"""Who asks, and what they may do. What is not in the table is denied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foliot.domain.errors import Forbidden


class Role(StrEnum):
    """What a caller is trusted with, least first. `system` stands above tenants; local mode has it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    SYSTEM = "system"


class Verb(StrEnum):
    """What can be done to a thing."""

    READ = "read"
    WRITE = "write"
    RUN = "run"


class Thing(StrEnum):
    """What there is to ask about."""

    SCHEDULE = "schedule"
    RUN = "run"
    DEAD_LETTER = "dead letter"
    HOUSE = "house"
    """Foliot itself, over all tenants: nodes, queues, metrics, the proof of the ledger."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks. The tenant comes from the token alone, never from a request."""

    tenant_id: str
    user_id: str
    role: Role


LOCAL = Caller("default", "local", Role.SYSTEM)
"""The one caller of local mode."""

_SEE = frozenset({(Verb.READ, Thing.SCHEDULE), (Verb.READ, Thing.RUN), (Verb.READ, Thing.DEAD_LETTER)})
_OPERATE = _SEE | {
    (Verb.WRITE, Thing.SCHEDULE),
    (Verb.RUN, Thing.SCHEDULE),
    (Verb.WRITE, Thing.RUN),
    (Verb.RUN, Thing.RUN),
    (Verb.RUN, Thing.DEAD_LETTER),
}
_ALLOWED: dict[Role, frozenset[tuple[Verb, Thing]]] = {
    Role.VIEWER: _SEE,
    Role.OPERATOR: _OPERATE,
    Role.ADMIN: _OPERATE,
    Role.SYSTEM: _OPERATE | {(Verb.READ, Thing.HOUSE)},
}


def may(caller: Caller, verb: Verb, thing: Thing) -> bool:
    """Whether the table allows it."""
    return (verb, thing) in _ALLOWED.get(caller.role, frozenset())


def demand(caller: Caller, verb: Verb, thing: Thing) -> None:
    """`Forbidden` unless the caller may."""
    if not may(caller, verb, thing):
        raise Forbidden(f"the role {caller.role.value} may not {verb.value} a {thing.value}")
