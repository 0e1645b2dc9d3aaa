"""Breaks Foliot's processes, database and network under load, then proves that nothing was lost or doubled."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from chaos import campaign, isolation, report
from chaos.attacks import ATTACKS
from chaos.brokers import SERVERS
from chaos.plan import CAMPAIGNS, STRUCK, Plan

CODES = {report.SOUND: 0, report.BROKEN: 1, report.NO_VERDICT: 3}


def parser() -> argparse.ArgumentParser:
    campaigns = {name: one.about for name, one in CAMPAIGNS.items()} | {
        "isolation": "a hostile tenant beside a good one, whose lateness and refusals are measured",
        "judge": "judge the history kept in --keep again",
    }
    lines = "\n".join(f"  {name:<13} {about}" for name, about in campaigns.items())
    made = argparse.ArgumentParser(
        prog="python -m chaos",
        description=__doc__,
        epilog=f"campaigns:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("campaign", choices=campaigns, metavar="CAMPAIGN", help="one of those below")
    made.add_argument("--seed", type=int, default=1, help="chooses load and faults (default 1)")
    made.add_argument(
        "--seconds", type=float, help="how long faults strike, at least (default 60; isolation: 25 for each attack)"
    )
    made.add_argument("--faults", type=int, default=0, help="how many faults strike, at least (default 0)")
    made.add_argument("--rate", type=float, default=30, help="instants a second (default 30)")
    made.add_argument("--time-scale", type=float, default=0.1, help="1 is a lease of 30 s (default 0.1)")
    made.add_argument("--patience", type=float, default=1, help="times longer that recovery may take (default 1)")
    made.add_argument("--broker", choices=sorted(SERVERS), help="let runs travel through one, to workers")
    made.add_argument(
        "--database", choices=sorted(STRUCK), help="default postgresql, isolation: sqlite; has only faults it can have"
    )
    made.add_argument("--skew", type=float, default=0, help="seconds by which every second process's clock is ahead")
    made.add_argument("--long", type=float, default=0.1, help="the share of calls longer than a lease (default 0.1)")
    made.add_argument("--slow", type=float, default=0.03, help="the share of calls that last 1.5 s (default 0.03)")
    made.add_argument("--chains", type=int, default=1, help="A to B, A to C, B and C to D: how many (default 1)")
    made.add_argument("--lead", type=float, default=6, help="seconds from the first request to the first instant")
    made.add_argument("--spared", type=float, default=2, help="seconds for which a restarted process is left alone")
    made.add_argument("--settle", type=float, default=90, help="seconds in which everything must end afterwards")
    made.add_argument("--attacks", default="", help="isolation: only these, separated by commas (default all)")
    made.add_argument("--size", type=float, default=1, help="isolation: 1 is the full attack (default 1)")
    made.add_argument("--keep", type=Path, help="directory for history, logs and picture (default: a new one)")
    made.add_argument("--json", action="store_true", help="print the report as JSON")
    return made


def isolated(options: argparse.Namespace) -> int:
    """A hostile tenant beside a good one."""
    work = options.keep or Path(tempfile.mkdtemp(prefix="foliot-chaos-isolation-"))
    print(f"isolation; logs and report in {work}", flush=True)
    named = {attack.__name__: attack for attack in ATTACKS}
    if unknown := set(filter(None, options.attacks.split(","))) - set(named):
        parser().error(f"no attack is named {', '.join(sorted(unknown))}: choose from {', '.join(named)}")
    attacks = [attack for name, attack in named.items() if name in options.attacks.split(",")] or ATTACKS
    made = isolation.run(
        isolation.Plan(
            work=work,
            seconds=(options.seconds or 25 * len(attacks)) / len(attacks),
            quiet=min(10.0, (options.seconds or 300) / len(attacks)),
            size=options.size,
            patience=options.patience,
            database=options.database or "sqlite",
            attacks=attacks,
        )
    )
    print(json.dumps(made.as_dict(), indent=2) if options.json else isolation.told(made))
    return 0 if made.sound else 1


def main(arguments: Sequence[str] | None = None) -> int:
    # Whoever ends a campaign early ends all that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parser().parse_args(arguments)
    if options.campaign == "isolation":
        return isolated(options)
    if options.campaign == "judge":
        if options.keep is None:
            parser().error("judge needs --keep: the directory of a campaign that ended")
        made = campaign.judge(options.keep)
    else:
        work = options.keep or Path(tempfile.mkdtemp(prefix=f"foliot-chaos-{options.campaign}-"))
        print(f"{options.campaign}, seed {options.seed}; history in {work}", flush=True)
        made = campaign.run(
            Plan(
                name=options.campaign,
                work=work,
                seed=options.seed,
                seconds=options.seconds or 60,
                faults=options.faults,
                rate=options.rate,
                scale=options.time_scale,
                broker=options.broker,
                database=options.database or "postgresql",
                skew=options.skew,
                chains=options.chains,
                long=options.long,
                patience=options.patience,
                slow=options.slow,
                lead=options.lead,
                spared=options.spared,
                settle=options.settle,
            )
        )
    print(json.dumps(made.as_dict(), indent=2) if options.json else report.told(made))
    return CODES[made.verdict]


if __name__ == "__main__":
    sys.exit(main())
