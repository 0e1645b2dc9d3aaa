"""The caller that a dashboard session stands for."""

from __future__ import annotations

from dataclasses import replace

from foliot.auth.identity_port import Identity
from foliot.core.access import Caller, Interface
from foliot.core.errors import SessionOver, Unauthenticated
from foliot.features.sessions.usecases.sessions import PREFIX, SEAM, Sessions

LARGEST = 3800
"""Characters of a session; browsers drop a cookie of more than 4096 without a word."""


async def session_caller(identity: Identity, sessions: Sessions, session: str) -> Caller:
    """Whom the session is for; `SessionOver` when it, or what began it, does not count any more."""
    if not 0 < len(session) <= LARGEST or not session.isascii():
        raise SessionOver
    try:
        caller = await _caller(identity, sessions, session)
    except Unauthenticated:
        raise SessionOver from None
    if not await identity.still(caller):
        raise SessionOver
    return replace(caller, interface=Interface.DASHBOARD)


async def _caller(identity: Identity, sessions: Sessions, session: str) -> Caller:
    if session.startswith(PREFIX):
        return sessions.caller(session)
    token, seam, session_id = session.rpartition(SEAM)
    if not seam:
        raise SessionOver
    return replace(await identity.caller(token), session_id=session_id)
