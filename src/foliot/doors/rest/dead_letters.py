"""Routes of dead letters."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.domain.access import Thing, Verb
from foliot.doors.rest import bodies, models, render
from foliot.doors.rest.asking import Body, Cases, Text, plain_texts
from foliot.doors.rest.bodies import body
from foliot.doors.rest.models import CONFLICT, UNKNOWN
from foliot.doors.rest.paging import Paged
from foliot.doors.rest.who import Who, permits
from foliot.usecases.dead_letters import Replayed

router = APIRouter(prefix="/api/dead-letters", tags=["Dead letters"])


@router.get(
    "",
    dependencies=[permits(Verb.READ, Thing.DEAD_LETTER)],
    response_model=models.DeadGroups,
    summary="Dead letters, grouped by error",
)
async def groups(
    cases: Cases, caller: Who, page: Paged, kind: Text = None, schedule_id: Text = None, code: Text = None
) -> Response:
    """Letters that failed alike stand together, those that failed last first; each group names its newest 100."""
    filters = plain_texts(kind=kind, schedule_id=schedule_id, code=code)
    found = await cases.dead_letters.groups(caller, page.more(), **filters)
    return render.page(found, page, render.group, lambda one: one.ids[0])


@router.post(
    "/replay",
    dependencies=[permits(Verb.RUN, Thing.DEAD_LETTER)],
    status_code=202,
    response_model=models.Replayed,
    openapi_extra=body(bodies.ReplayRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Replay",
)
async def replay(cases: Cases, caller: Who, asked: Body) -> Response:
    """By ids or by filter, at most 500 at once. Each is a new run; the letter stays until its replay succeeds."""
    made = await cases.dead_letters.replay(caller, asked.document, asked.once(202, _replayed))
    return render.answer(render.replayed(made), 202)


def _replayed(made: Replayed) -> bytes:
    return render.dumps(render.replayed(made))
