"""`foliot endpoints`: how the targets of webhooks fare."""

from __future__ import annotations

from typing import Any

from foliot.cli.access import asks
from foliot.cli.client import asking
from foliot.cli.options import Json, Utc
from foliot.cli.printing import count, listing, moment, note


@asks
def endpoints(as_json: Json = False, utc: Utc = False) -> None:
    """Show how the targets of webhooks fared within the last 24 hours; those that fail now first."""
    with asking() as client:
        found = client.get("/api/endpoints")

        def row(one: dict[str, Any]) -> tuple[object, ...]:
            codes = ", ".join(f"{code} {times}" for code, times in one["codes"].items())
            took = f"{one['p50_ms']:g} / {one['p95_ms']:g}"
            since = moment(one["failing_since"], utc=utc)
            return one["url"], one["calls"], f"{one['success_ratio']:.1%}", took, codes, since

        columns = ("url", "calls", "succeeded", "ms p50 / p95", "how they ended", "failing since")
        listing(found, columns, row, empty="No webhook was called within the last 24 hours.", as_json=as_json)
        if not as_json and found["total"] > len(found["items"]):
            note(f"{count(found['total'] - len(found['items']), 'target')} more had no room")
        if not as_json and not found["whole"]:
            note("only the newest 2,000 runs were looked at: there are more")
