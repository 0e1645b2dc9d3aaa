"""Q11: how long commands take to start, as processor time beside `python -c pass`, and how soon `foliot up` answers.

    python bench/cold.py [--repeats 7]

Processor time is what counts on a busy machine; the wall clock is printed too. `schedule list` asks a server that was
started for it, on an empty SQLite file.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from measuring import Report

PASS, VERSION, LIST, UP = "python -c pass", "foliot --version", "foliot schedule list", "foliot up"
FOLIOT = [sys.executable, "-m", "foliot"]


def ran(name: str, command: Sequence[str], environ: Mapping[str, str], report: Report) -> None:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
    wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report.add(name, cpu_ms=cpu * 1e3, wall_ms=wall * 1e3)


def up(home: Path, report: Report) -> tuple[subprocess.Popen[str], str]:
    """From the command to the first answer of its API; the first start also creates the tables and is not counted."""
    environ = os.environ | {"FOLIOT_HOME": str(home), "FOLIOT_GRPC_PORT": "off"}
    fresh = not (home / "foliot.db").exists()
    began = perf_counter()
    process = subprocess.Popen([*FOLIOT, "up", "--port", "0"], env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = "".join(process.stdout.readline() for _ in range(5))
    found = re.search(r"http://[\d.:]+", said)
    if found is None:
        raise SystemExit(f"foliot up did not start: {said}")
    urllib.request.urlopen(f"{found[0]}/health", timeout=30).close()
    if not fresh:
        report.add(UP, answers_ms=(perf_counter() - began) * 1e3)
    return process, found[0]


def stopped(process: subprocess.Popen[str], report: Report, *, counts: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.terminate()
    process.communicate(timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if counts:
        report.add(UP, cpu_ms=(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("cold")
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as scratch:
        for at in range(1 + given.repeats):
            process, url = up(Path(scratch), report)
            if at == 0:
                environ = os.environ | {"FOLIOT_URL": url}
                for _ in range(given.repeats):
                    ran(PASS, [sys.executable, "-c", "pass"], environ, report)
                    ran(VERSION, [*FOLIOT, "--version"], environ, report)
                    ran(LIST, [*FOLIOT, "schedule", "list"], environ, report)
            stopped(process, report, counts=at > 0)
    for name, most in ((VERSION, 8), (LIST, 15)):
        ratio = report.ratio(name, PASS, "cpu_ms") or 0.0
        report.add(f"{name} : {PASS}", cpu=ratio, wall=report.ratio(name, PASS, "wall_ms"))
        report.goal(f"Q11: {name} takes {ratio:.1f} x {PASS} (at most {most})", met=ratio <= most)
    answers = report.middle(UP, "answers_ms") or 0.0
    report.goal(f"Q11: foliot up answers after {answers:,.0f} ms (at most 2,000)", met=answers <= 2000)
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
