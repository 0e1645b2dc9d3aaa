"""A process pool for strangers' bytes: its children have no environment, start nothing, and hold only so much."""

from __future__ import annotations

from foliot.cluster import page_reader
from foliot.cluster.machine import Readers
from foliot.cluster.process_pool import ProcessPool
from foliot.cluster.resource_limits import Bounds

READS_EACH = 2000
"""After so many pages a reader is replaced."""
GRACE = 0.1
"""Seconds; a page that cannot be read is not read any better for waiting."""
FILES = 64
SAMPLE = b"<html><body><article><p>It was a bright cold day in April, and the clocks were striking.</p></article>"
"""What a new reader reads first, and so has loaded what reading takes."""


def reader_pool(room: Readers) -> ProcessPool:
    """Nothing is started before the first page."""
    about = {"content_type": "text/html", "url": "http://localhost/"}
    return ProcessPool(
        size=room.many,
        most=READS_EACH,
        grace=GRACE,
        bounds=Bounds(memory=room.memory, files=FILES, processes=0),
        warm_up=page_reader.asked("foliot.pages.article", "extract", about, SAMPLE),
    )
