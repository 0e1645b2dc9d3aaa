"""The pages of Scrapyd: where it begins, and the table of jobs in the columns that ScrapydWeb reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape

from foliot.features.crawls.cli.scrapyd_front.web_services import FrontJob

COLUMNS = ("Project", "Spider", "Job", "PID", "Start", "Runtime", "Finish", "Log", "Items", "Outcome")
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Scrapyd</title>'
    "<style>body{font-family:system-ui,sans-serif}table{border-collapse:collapse}"
    "th,td{border:1px solid;padding:.5rem}</style></head>\n<body>\n"
)


def home_page() -> str:
    return f'{_HEAD}<h1>Scrapyd</h1>\n<p>Served by Foliot.</p>\n<p><a href="/jobs">Jobs</a></p>\n</body></html>\n'


def jobs_page(jobs: Iterable[FrontJob]) -> str:
    """Pending, running and finished crawls."""
    groups: dict[str, list[FrontJob]] = {"pending": [], "running": [], "finished": []}
    for job in jobs:
        groups[job.group].append(job)
    heads = "\n".join(f"<th>{name}</th>" for name in COLUMNS)
    bodies = []
    for name, found in groups.items():
        title = f'<tr>\n<th colspan="{len(COLUMNS)}">{name.capitalize()}</th>\n</tr>'
        bodies.append("<tbody>\n" + "\n".join([title, *map(_row, found)]) + "\n</tbody>")
    table = f'<table id="jobs">\n<thead>\n<tr>\n{heads}\n</tr>\n</thead>\n' + "\n".join(bodies) + "\n</table>"
    return f'{_HEAD}<h1>Jobs</h1>\n<p><a href="/">Go up</a></p>\n{table}\n</body></html>\n'


def _row(job: FrontJob) -> str:
    begun = job.group != "pending"
    cells = [
        escape(job.project),
        escape(job.spider),
        escape(job.id),
        "",
        _short(job.start) if begun else "",
        _runtime(job),
        _short(job.end) if job.group == "finished" else "",
        f'<a href="{escape(job.log_url)}">Log</a>' if begun else "",
        f'<a href="{escape(job.items_url)}">Items</a>' if begun else "",
        escape(job.state + (f": {job.error}" if job.error else "")) if job.group == "finished" else "",
    ]
    return "<tr>\n" + "\n".join(f"<td>{cell}</td>" for cell in cells) + "\n</tr>"


def _short(text: str | None) -> str:
    return (text or "").partition(".")[0]


def _runtime(job: FrontJob) -> str:
    if job.start is None or job.end is None:
        return ""
    took = datetime.fromisoformat(job.end) - datetime.fromisoformat(job.start)
    return str(took).partition(".")[0]
