"""`foliot check`."""

from __future__ import annotations

import os
from dataclasses import asdict

import typer

from foliot.terminal.access import READ_INSTALLATION, needs
from foliot.terminal.group import CommandGroup, Table, print_answer
from foliot.terminal.options import Home, Json
from foliot.terminal.output import Exit, one_line_errors

LEVELS = ("error", "warning", "ok")

group = CommandGroup()
FINDINGS = Table(": level, key, what: message", empty="Nothing to report.", items="findings")


@group.command()
@needs(READ_INSTALLATION)
def check(home: Home = None, as_json: Json = False) -> None:
    """Check settings and connections; every problem names the key, the rule and the value."""
    import asyncio

    from foliot.cli.check import Finding, rule
    from foliot.cli.check.browser import check_browser
    from foliot.cli.check.connections import (
        check_broker,
        check_database,
        check_discord,
        check_mongo,
        check_redis,
        check_scrapyd,
        check_services,
    )
    from foliot.cli.check.settings import (
        check_access,
        check_pipelines,
        check_processes,
        check_settings,
        check_tasks,
        check_transforms,
        unused,
    )
    from foliot.config.parse import SettingsError
    from foliot.config.settings import Settings

    checks = (
        *(
            check_settings,
            check_access,
            check_database,
            check_processes,
            check_tasks,
            check_transforms,
            check_pipelines,
        ),
        *(check_redis, check_broker, check_scrapyd, check_services, check_discord, check_mongo, check_browser),
    )
    with one_line_errors():
        findings = unused()
        try:
            loaded = Settings.load(os.environ, home=home)
        except SettingsError as wrong:
            findings += [Finding("error", complaint.field, rule(complaint)) for complaint in wrong.complaints]
        else:
            for examine in checks:
                result = examine(loaded)
                findings += result if isinstance(result, list) else asyncio.run(result)
        findings.sort(key=lambda finding: LEVELS.index(finding.level))
        failed = any(finding.level == "error" for finding in findings)
        report = {"ok": not failed, "findings": [asdict(finding) for finding in findings]}
        print_answer(report, FINDINGS, as_json=as_json)
        raise typer.Exit(Exit.FAILED if failed else Exit.DONE)
