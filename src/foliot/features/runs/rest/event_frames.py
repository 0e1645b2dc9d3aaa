"""Encodes the events of a run as frames of server-sent events."""

from __future__ import annotations

from foliot.engine.model.run import Event
from foliot.engine.model.views import RunView
from foliot.features.runs.schema import run_event
from foliot.servers.http import encode
from foliot.servers.http.run_broadcast import EventView


def frame(event: Event) -> bytes:
    """One event as a frame. JSON has no raw line breaks, so no content can forge a frame."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.seq,
        event.type.value.encode(),
        encode.dumps(run_event(event)),
    )


def end(run: RunView) -> bytes:
    """The last frame of a stream: the run's final state."""
    last = {"run_id": run.id, "state": run.state.value, "seq": run.event_seq}
    return b"event: end\ndata: %s\n\n" % encode.dumps(last)


EVENTS = EventView("events", frame, end)
