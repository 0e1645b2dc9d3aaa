"""A process pool for untrusted bytes: its children have no environment, start no process, and have bounded memory."""

from __future__ import annotations

from foliot.cluster import page_reader
from foliot.cluster.machine import ReaderCapacity
from foliot.cluster.process_pool import ProcessPool
from foliot.cluster.resource_limits import ChildLimits

READS_EACH = 2000
"""Pages after which a reader is replaced."""
GRACE = 0.1
"""Timeout in seconds; a page that takes longer will not be read by waiting."""
FILES = 64
SAMPLE = b"<html><body><article><p>It was a bright cold day in April, and the clocks were striking.</p></article>"
"""The first page of a new reader, so that its imports are done."""


def reader_pool(room: ReaderCapacity) -> ProcessPool:
    """Nothing is started before the first page."""
    about = {"content_type": "text/html", "url": "http://localhost/"}
    return ProcessPool(
        size=room.many,
        most=READS_EACH,
        grace=GRACE,
        bounds=ChildLimits(memory=room.memory, files=FILES, processes=0),
        warm_up=page_reader.asked("foliot.pages.article", "extract", about, SAMPLE),
    )
