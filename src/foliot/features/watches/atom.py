"""The Atom feed of a watch: its changes that count."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from foliot.core.document import rfc3339
from foliot.features.watches.model.watch import PageChange
from foliot.features.watches.recorder import in_words
from foliot.features.watches.usecases.history import WatchFeed

_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def feed_of(found: WatchFeed, base: str) -> bytes:
    """RFC 4287; what pages say is escaped, and is text only."""
    watch = found.watch
    updated = found.changes[0].at if found.changes else watch.created_at
    entries = "".join(_entry(change) for change in found.changes)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>urn:foliot:{_text(watch.id)}</id><title>{_text(watch.settings.name)}</title>"
        f"<updated>{rfc3339(updated)}</updated><author><name>Foliot</name></author>"
        f'<link rel="alternate" href={quoteattr(f"{base}/watches/{watch.id}")}/>{entries}</feed>\n'
    ).encode()


def _entry(change: PageChange) -> str:
    said = in_words(change)
    content = said if not change.diff else f"{said}\n\n{change.diff}"
    return (
        f"<entry><id>urn:foliot:{_text(change.id)}</id><title>{_text(f'{change.kind.value}: {said}'[:300])}</title>"
        f"<updated>{rfc3339(change.at)}</updated><link href={quoteattr(_plain(change.url))}/>"
        f'<content type="text">{_text(content)}</content></entry>'
    )


def _text(text: str) -> str:
    return escape(_plain(text))


def _plain(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("", text)
