"""Shows the progress of an article job: a bar on a terminal, else a line for each tenth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from foliot.terminal.output import note

STEPS = 10
"""How many lines are printed for a job where there is no terminal."""

Show = Callable[[Mapping[str, Any]], None]


def watch(events: Iterable[dict[str, Any]], job: Mapping[str, Any], *, quiet: bool) -> None:
    """Show the progress at each article that ends, until the last event."""
    with _shown(job, quiet=quiet) as show:
        for event in events:
            progress = event.get("data") or {}
            if event.get("type") == "progress" and "article_id" in progress:
                show(progress)


def summary(job: Mapping[str, Any]) -> str:
    """`7 of 10 done, 2 from the cache, 1 failed`."""
    cached, failed = job.get("cached") or 0, job.get("failed") or 0
    text = f"{job.get('completed') or 0} of {job.get('total_articles') or 0} done"
    return text + (f", {cached} from the cache" if cached else "") + (f", {failed} failed" if failed else "")


@contextmanager
def _shown(job: Mapping[str, Any], *, quiet: bool) -> Iterator[Show]:
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar(job) as show:
            yield show
    else:
        yield _Lines(job).show


@contextmanager
def _bar(job: Mapping[str, Any]) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many pages a second."""

        def render(self, task: Task) -> Text:
            rate = task.finished_speed or task.speed
            return Text("" if rate is None else f"{rate:.1f} pages/s")

    counted = TextColumn("{task.fields[cached]} cached, {task.fields[failed]} failed")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), counted, Rate(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        cached = job["cached_articles"]
        task = progress.add_task("articles", total=job["total_articles"], completed=cached, cached=cached, failed=0)

        def show(counts: Mapping[str, Any]) -> None:
            progress.update(task, completed=counts["completed"] + counts["failed"], failed=counts["failed"])

        yield show


class _Lines:
    """Prints a line each time another tenth of a job has ended."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        self.step = 0

    def show(self, counts: Mapping[str, Any]) -> None:
        ended = counts["completed"] + counts["failed"]
        step = STEPS * ended // (counts["total"] or 1)
        if step > self.step:
            self.step = step
            note(summary({**counts, "total_articles": counts["total"], "cached": self.job["cached_articles"]}))
