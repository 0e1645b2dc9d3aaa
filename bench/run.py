"""Runs the benchmarks one after the other and writes their figures below bench/results/.

python bench/run.py [cron firing stream engine webhooks interfaces batch streams articles cluster sqlite dashboard
    idle history cold scale revisits] [--quick]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from database import POSTGRESQL

HERE = Path(__file__).parent
RESULTS = HERE / "results"

QUICK = {
    "cron": ["--rounds", "3"],
    "firing": ["--sizes", "1000,100000", "--repeats", "1", "--peer", "1000"],
    "stream": ["--seconds", "10"],
    "engine": ["--runs", "4000", "--repeats", "1"],
    "webhooks": ["--due", "2000", "--repeats", "1", "--rates", "500", "--seconds", "5", "--peer", "500"],
    "interfaces": ["--requests", "500", "--repeats", "1"],
    "batch": ["--schedules", "1000", "--repeats", "1"],
    "streams": ["--followers", "200", "--seconds", "5"],
    "articles": ["--pages", "300", "--repeats", "1"],
    "cluster": ["--runs", "3000", "--repeats", "1", "--processes", "1,2"],
    "sqlite-firing": ["--sizes", "1000,100000", "--repeats", "1"],
    "sqlite-engine": ["--runs", "4000", "--repeats", "1"],
    "dashboard": ["--schedules", "200", "--runs", "5000", "--repeats", "1"],
    "idle": ["--schedules", "200", "--runs", "5000", "--readers", "50", "--seconds", "5", "--repeats", "1"],
    "history": ["--runs", "5000", "--stored", "20000"],
    "cold": ["--repeats", "2"],
    "scale": ["--seconds", "5", "--part", "0.05"],
    "revisits": ["--pages", "100", "--days", "8", "--budget", "400"],
}


def plan(scratch: Path) -> dict[str, list[list[str]]]:
    """Scripts and arguments by name; whatever is timed is timed alone."""
    lite = ["--database", f"sqlite+aiosqlite:///{scratch}/bench.db"]
    return {
        "cron": [["cron.py", "--json", str(RESULTS / "cron.json")]],
        "firing": [["firing.py"]],
        "stream": [["firing.py", "--stream"]],
        "engine": [["engine.py"]],
        "webhooks": [["webhooks.py"], ["webhooks.py", *lite]],
        "interfaces": [["interfaces.py"]],
        "batch": [["batch.py"]],
        "streams": [["streams.py"]],
        "articles": [["articles.py"]],
        "cluster": [["cluster.py"]],
        "sqlite": [["firing.py", *lite], ["engine.py", *lite]],
        "dashboard": [["dashboard.py"], ["dashboard.py", "--database", POSTGRESQL]],
        "idle": [["idle.py"], ["idle.py", "--database", POSTGRESQL]],
        "history": [["history.py"]],
        "cold": [["cold.py"]],
        "scale": [["scale.py"]],
        "revisits": [["revisits.py"]],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which ones; all of them when none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes and one sample each: does it work?")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as scratch:
        known = plan(Path(scratch))
        unknown = [name for name in given.names if name not in known]
        if unknown:
            parser.error(f"{', '.join(unknown)}: there are {', '.join(known)}")
        for name in given.names or known:
            for script, *arguments in known[name]:
                key = f"sqlite-{Path(script).stem}" if name == "sqlite" else name
                command = [script, *arguments, *(QUICK[key] if given.quick else [])]
                print(f"\n=== {' '.join(command)}", flush=True)
                if subprocess.run([sys.executable, *command], cwd=HERE, check=False).returncode:
                    failed.append(" ".join(command))
    for text in failed:
        print(f"failed: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
