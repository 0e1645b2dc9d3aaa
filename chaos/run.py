"""Kills and freezes Foliot's processes under load, then proves that nothing was lost or doubled: `make chaos`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from chaos import campaign  # noqa: E402 -- a script finds its siblings only now
from chaos.campaign import Plan, Report  # noqa: E402
from tests import databases, services  # noqa: E402
from tests.services import POSTGRESQL, wait_for  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long instants come due (default 60)")
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--every", type=int, default=2, help="seconds between two instants of a schedule")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", help="an empty database to use; default: a new one on a PostgreSQL found here")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--keep", type=Path, help="keep the processes' logs and the receiver's history here")
    options = parser.parse_args()
    work = options.keep or Path(tempfile.mkdtemp(prefix="foliot-chaos-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        report = on_database(options, work)
    finally:
        if options.keep is None:
            shutil.rmtree(work, ignore_errors=True)
    print(json.dumps(report.as_dict(), indent=2) if options.json else told(report))
    return 0 if report.sound else 1


def on_database(options: argparse.Namespace, work: Path) -> Report:
    plan = {"work": work, "seconds": options.seconds, "schedules": options.schedules, "every": options.every}
    if options.database:
        return campaign.run(Plan(url=options.database, seed=options.seed, **plan))
    os.environ.setdefault(services.SHARED, str(work))
    server, name = services.find(POSTGRESQL), f"{databases.PREFIX}chaos_{os.getpid()}"
    url = wait_for(databases.create(server, name))
    try:
        return campaign.run(Plan(url=url.render_as_string(hide_password=False), seed=options.seed, **plan))
    finally:
        wait_for(databases.drop(server, name))
        services.stop_private()


def told(report: Report) -> str:
    late, kills, freezes = report.lateness, report.kills, report.freezes
    created = ", ".join(f"p{share} {late[f'created_p{share}']}" for share in (50, 95, 99, 100))
    called = ", ".join(f"p{share} {late[f'called_p{share}']}" for share in (50, 95, 99, 100))
    faults = f"{kills.total()} kills {dict(kills)}, {freezes.total()} freezes longer than a lease {dict(freezes)}"
    repeats = f"{report.duplicate_effects} duplicates (same webhook-id), {report.claimed_again} claims repeated"
    lines = [
        f"campaign    {report.seconds:g} s, {report.schedules} schedules, {report.instants} instants",
        f"faults      {faults}",
        f"accounted   {report.runs} runs + {report.in_ledger} in the ledger; {report.states}",
        f"effects     {report.calls} calls, {report.refused_by_receiver} refused by the receiver, {repeats}",
        f"lateness    run made {created} s; called {called} s",
        f"doors       {dict(report.requests)}",
        f"settled     {report.settled_after} s after the last fault",
        f"audit       {report.audit}",
    ]
    if report.violations:
        lines += [f"VIOLATED    {what}" for what in report.violations[:20]]
        lines += [f"            … and {len(report.violations) - 20} more"] if len(report.violations) > 20 else []
    lines.append(f"verdict     {'sound' if report.sound else 'BROKEN'}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
