"""The parameter `state` of lists of runs, with `status` as its older name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from foliot.core.errors import Invalid
from foliot.engine.model.run import RunState

_State = Annotated[str | None, Query(max_length=200, description="One state, or several with commas.")]
_Status = Annotated[str | None, Query(max_length=200, description="The older name of `state`.", deprecated=True)]


async def run_states(state: _State = None, status: _Status = None) -> str | None:
    """The requested states, separated by commas; `Invalid` where the two names disagree."""
    wanted, older = _states("state", state), _states("status", status)
    if wanted is not None and older is not None and set(wanted.split(",")) != set(older.split(",")):
        raise Invalid("status", "is the older name of 'state' and must not differ from it", got=older)
    return wanted or older


States = Annotated[str | None, Depends(run_states)]


def _states(name: str, text: str | None) -> str | None:
    if not text:
        return None
    for state in text.split(","):
        if state not in set(RunState):
            raise Invalid(name, f"must be one or more of {', '.join(RunState)}", got=state)
    return text
