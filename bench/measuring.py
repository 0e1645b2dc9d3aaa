"""Samples, their median and range, what they cost, and where they are written."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TICKS = os.sysconf("SC_CLK_TCK")


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank; NaN when there is nothing to rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, round(share * (len(ranked) - 1)))] if ranked else float("nan")


def rss_mb() -> float:
    """What this process holds in memory now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def cpu_seconds(pids: Iterable[int]) -> float | None:
    """User and system time of these processes; None when they cannot be seen, as on another machine."""
    total = 0.0
    try:
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
    except (OSError, IndexError, ValueError):
        return None
    return total


def children() -> set[int]:
    """The processes that this one has started and that still run."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
        except (OSError, IndexError):
            continue  # it has just ended
        if int(parent) == os.getpid():
            found.add(int(stat.parent.name))
    return found


def children_cpu(but: Collection[int] = ()) -> float:
    """User and system time of the processes that this one has started, also of those that have ended."""
    ended = os.times()
    running = sum(cpu_seconds([pid]) or 0.0 for pid in children() - set(but))
    return ended.children_user + ended.children_system + running


@dataclass(slots=True)
class Stopwatch:
    """Wall clock and processor time of what lies between start and stop; several stretches add up."""

    wall: float = 0.0
    client: float = 0.0
    server: float | None = 0.0
    running: bool = False
    _began: tuple[float, float, float | None] = (0.0, 0.0, None)

    def start(self, server: float | None = None) -> None:
        self.running = True
        self._began = (perf_counter(), process_time(), server)

    def stop(self) -> None:
        self.running = False
        wall, client, _ = self._began
        self.wall += perf_counter() - wall
        self.client += process_time() - client

    def charge(self, server: float | None) -> None:
        """Add the server's share, read after the clock has stopped."""
        before = self._began[2]
        self.server = None if server is None or before is None or self.server is None else self.server + server - before


@dataclass(slots=True)
class Report:
    """Figures by contender and metric, each a list of samples."""

    name: str
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    goals: dict[str, bool] = field(default_factory=dict)

    def add(self, contender: str, **metrics: float | None) -> None:
        for metric, value in metrics.items():
            if value is not None:
                self.figures.setdefault(contender, {}).setdefault(metric, []).append(value)

    def time(self, contender: str, count: int, watch: Stopwatch) -> None:
        """A throughput sample: per second, and the processor time that one of them took on both ends."""
        self.add(
            contender,
            per_second=count / watch.wall,
            client_cpu_us=watch.client / count * 1e6,
            server_cpu_us=None if watch.server is None else watch.server / count * 1e6,
        )

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(f"  {text}", flush=True)

    def middle(self, contender: str, metric: str = "per_second") -> float | None:
        found = self.figures.get(contender, {}).get(metric)
        return median(found) if found else None

    def ratio(self, ours: str, other: str, metric: str = "per_second") -> float | None:
        mine, theirs = self.middle(ours, metric), self.middle(other, metric)
        return mine / theirs if mine is not None and theirs else None

    def goal(self, text: str, *, met: bool) -> None:
        self.goals[text] = met

    def show(self) -> None:
        width = max([len(name) for name in self.figures], default=10) + 2
        print(f"\n{'':{width}}{'metric':26}{'median':>12}   range (samples)")
        for contender, metrics in self.figures.items():
            for metric, values in metrics.items():
                extent = f"{_figure(min(values))} .. {_figure(max(values))} ({len(values)})"
                print(f"{contender:{width}}{metric:26}{_figure(median(values)):>12}   {extent}")
        for text, met in self.goals.items():
            print(f"{'met   ' if met else 'MISSED'} {text}")

    def write(self, path: Path | None = None) -> Path:
        path = path or RESULTS / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = {
            contender: {
                metric: {"median": median(values), "min": min(values), "max": max(values), "samples": values}
                for metric, values in metrics.items()
            }
            for contender, metrics in self.figures.items()
        }
        whole = {
            "benchmark": self.name,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": " ".join([Path(sys.executable).name, *sys.argv]),
            "machine": machine(),
            "figures": made,
            "goals": self.goals,
            "notes": self.notes,
        }
        path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        return path


def machine() -> Mapping[str, Any]:
    """How large the machine is, and how busy others kept it."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30, 1),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def child(arguments: Sequence[str], *, patience: float = 300) -> dict[str, float]:
    """Run a contender that prints one JSON object on its last line."""
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=HERE, capture_output=True, text=True, timeout=patience, check=False
    )
    if ran.returncode:
        raise RuntimeError((ran.stderr or ran.stdout).strip()[-1000:] or f"ended with {ran.returncode}")
    answer: dict[str, float] = json.loads(ran.stdout.strip().splitlines()[-1])
    return answer


def _figure(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.3f}"
