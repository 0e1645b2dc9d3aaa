"""Builds the renderer from the settings."""

from __future__ import annotations

from datetime import timedelta

import structlog

from foliot.cluster.machine import ChildLimits, environment, memory
from foliot.cluster.machine import cores as usable_cores
from foliot.cluster.process_pool import ProcessPool
from foliot.config.settings import Settings
from foliot.features.fetching.access import StepSecrets
from foliot.features.fetching.model import KeepPage
from foliot.features.fetching.render import installed
from foliot.features.fetching.render.renderer import BrowserLaunch, BrowserRenderer
from foliot.features.fetching.render.screenshots import Screenshots
from foliot.net.allow import EgressRules
from foliot.net.client import HttpEgress
from foliot.net.guard import EgressGuard
from foliot.net.proxy import LOOPBACK, EgressProxy
from foliot.net.tcp import TcpEgress

log = structlog.get_logger("foliot.fetching")

MEBIBYTE = 1024 * 1024
MOST = 4
"""Browsers at once, unless FOLIOT_BROWSERS says otherwise."""
RESERVED = 512 * MEBIBYTE
"""Memory that browsers leave for the process and its readers."""
CALLS = 500
"""Pages after which the process that drives a browser is replaced too."""
VARIABLES = ("PATH", "LANG", "TZ", "TMPDIR")
"""Variables of a browser's process; it knows no secret of ours, and no home of its user."""


def build_renderer(
    settings: Settings, egress: HttpEgress, secrets: StepSecrets | None = None, keeper: KeepPage | None = None
) -> BrowserRenderer | None:
    """None where no browser is configured, or it is not installed. Nothing is started before the first page."""
    if not settings.has_browser:
        return None
    if not installed.has_library():
        log.error("FOLIOT_BROWSER: %s", installed.LIBRARY_MISSING, action="browser_missing")
        return None
    program = "" if settings.browser_url else installed.chromium(settings.browser)
    if program is None:
        log.error("there is no Chromium: %s", installed.HOW_TO_INSTALL, action="browser_missing")
        return None
    rules = EgressRules.read(loopback=settings.local, allow=settings.egress_allow, ports=settings.egress_ports)
    guard = EgressGuard(rules, egress.limits)
    host, port = settings.browser_proxy or (LOOPBACK, 0)
    most = settings.browser_memory * MEBIBYTE
    many = settings.browsers or at_once(usable_cores(), memory(), most)
    return BrowserRenderer(
        pool=ProcessPool(
            size=many,
            most=CALLS,
            bounds=ChildLimits(cores=0, tree=most),
            environment={**environment(VARIABLES), "HOME": "/nonexistent"},
        ),
        proxy=EgressProxy(tcp=TcpEgress(guard=guard), host=host, listen_port=port),
        guard=guard,
        launch=BrowserLaunch(
            program=program,
            url=settings.browser_url.reveal() if settings.browser_url else "",
            sandbox=settings.browser_sandbox,
            pages=settings.browser_pages,
            memory=most * 2 // 3,
        ),
        many=many,
        timeout=timedelta(seconds=settings.browser_timeout),
        secrets=secrets,
        shots=Screenshots(keeper=keeper),
    )


def at_once(cores: int, memory: int, each: int) -> int:
    """One browser for each core, as far as there is memory."""
    return max(min(cores, max(memory - RESERVED, 0) // each, MOST), 1)
