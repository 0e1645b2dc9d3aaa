"""Draws the timeline of a campaign as SVG: lateness of every run above, the fate of every process below."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from pathlib import Path

from chaos import history
from chaos.history import History, Moment
from chaos.stage import BESIDE

WIDTH, LEFT, RIGHT = 1400, 130, 20
CHART, LANE, TOP = 220, 26, 40

FILLS = {
    "starting": "#f2b8b5",
    "killed": "#f2b8b5",
    "frozen": "#a8c7fa",
    "held": "#ffd8a8",
    "down": "#c4a7e7",
}
"""By what has happened to a process; from then on, until it is well again."""

WORDS = {
    "starting": "killed, starting",
    "frozen": "frozen",
    "held": "cut off or half open",
    "down": "server down",
}
MARKS = {"eaten": "commit eaten", "cut": "connections cut"}
WELL = frozenset({"ready", "thawed", "released", "up"})


@dataclass(frozen=True, slots=True)
class Axis:
    """Moments to the right, lateness upward, on a root scale, so that milliseconds and minutes are both seen."""

    start: datetime
    end: datetime
    latest: float

    def x(self, moment: datetime) -> float:
        share = (moment - self.start) / (self.end - self.start)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, late: float) -> float:
        return round(TOP + CHART - math.sqrt(max(0.0, late) / self.latest) * CHART, 1)


def draw(directory: Path) -> str:
    return svg(history.read(directory))


def svg(kept: History) -> str:
    lanes = sorted({one.who for one in kept.moments if one.who not in BESIDE} | {"database"})
    axis = _axis(kept)
    height = TOP + CHART + 40 + LANE * len(lanes) + 60
    box = f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}><rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(LEFT, 20, f"{len(kept.runs)} runs, {len(kept.faults)} faults: lateness of each run, and each process"),
        *_chart(axis),
        *_faults(kept, axis, TOP + CHART + 40 + LANE * len(lanes)),
        *_dots(kept, axis),
        *(part for row, who in enumerate(lanes) for part in _lane(kept, axis, who, TOP + CHART + 40 + LANE * row)),
        *_legend(height - 20),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axis(kept: History) -> Axis:
    times = [*(one.t for one in kept.moments), *(run.created for run in kept.runs), *(c.seen for c in kept.calls)]
    if not times:
        raise ValueError("an empty history has no timeline")
    late = [(run.created - run.at).total_seconds() for run in kept.runs if run.at is not None]
    late += [(call.seen - call.at).total_seconds() for call in kept.calls if call.at is not None]
    return Axis(min(times), max(times) + timedelta(seconds=1), max([1.0, *late]))


def _chart(axis: Axis) -> Iterable[str]:
    for late in (0, 0.05, 0.2, 0.5, 1, 2, 5, 10, 20, 40, 80):
        if late <= axis.latest:
            y = axis.y(late)
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#eee"/>'
            yield _text(LEFT - 8, y + 4, f"{late:g} s late", anchor="end")
    span = (axis.end - axis.start).total_seconds()
    step = next(size for size in (1, 5, 10, 30, 60, 300, 3600, 86400) if span / size <= 15 or size == 86400)
    for second in range(0, int(span) + 1, step):
        x = axis.x(axis.start + timedelta(seconds=second))
        yield f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{TOP + CHART}" stroke="#f4f4f4"/>'
        yield _text(x, TOP + CHART + 18, f"{second} s", anchor="middle")


def _faults(kept: History, axis: Axis, bottom: float) -> Iterable[str]:
    for one in kept.faults:
        x = axis.x(one.t)
        yield (
            f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="#d33" stroke-width="0.6" opacity="0.5">'
            f"<title>{escape(one.what)} {escape(one.who)}</title></line>"
        )


def _dots(kept: History, axis: Axis) -> Iterable[str]:
    for call in kept.calls:
        if call.at is not None:
            yield _dot(axis.x(call.seen), axis.y((call.seen - call.at).total_seconds()), "#9aa0a6")
    for run in kept.runs:
        if run.at is not None:
            fill = "#188038" if run.state == "success" else "#e37400"
            yield _dot(axis.x(run.created), axis.y((run.created - run.at).total_seconds()), fill)


def _dot(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="1.6" fill="{fill}"/>'


def _lane(kept: History, axis: Axis, who: str, top: float) -> Iterable[str]:
    moments = sorted((one for one in kept.moments if one.who == who), key=lambda one: one.t)
    yield _text(LEFT - 8, top + 16, who, anchor="end")
    yield f'<rect x="{LEFT}" y="{top + 4}" width="{WIDTH - LEFT - RIGHT}" height="{LANE - 8}" fill="#e6f4ea"/>'
    for what, since, until in _states(moments, axis):
        x = axis.x(since)
        width = max(1.0, axis.x(until) - x)
        yield (
            f'<rect x="{x}" y="{top + 4}" width="{width:.1f}" height="{LANE - 8}" fill="{FILLS[what]}">'
            f"<title>{what}</title></rect>"
        )
    for one in moments:
        if one.what in MARKS:
            x = axis.x(one.t)
            yield f'<path d="M{x} {top + 2} l4 6 h-8 z" fill="#d33"><title>{MARKS[one.what]}</title></path>'


def _states(moments: Sequence[Moment], axis: Axis) -> Iterable[tuple[str, datetime, datetime]]:
    """What held a process back, from when to when."""
    what, since = "", axis.start
    for one in moments:
        if one.what not in FILLS and one.what not in WELL:
            continue
        if what:
            yield what, since, one.t
        what, since = (one.what if one.what in FILLS else ""), one.t
    if what:
        yield what, since, axis.end


def _legend(y: float) -> Iterable[str]:
    x = float(LEFT)
    colours = {"well": "#e6f4ea", **{word: FILLS[what] for what, word in WORDS.items()}}
    colours |= {"run made": "#188038", "run not successful": "#e37400", "target called": "#9aa0a6", "fault": "#d33"}
    for word, fill in colours.items():
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{fill}"/>'
        yield _text(x + 16, y, word)
        x += 30 + 7 * len(word)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
