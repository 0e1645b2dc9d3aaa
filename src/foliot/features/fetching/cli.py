"""`foliot host …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import usage

group = CommandGroup("Show hosts and what waits for them; set their limits.")

Host = Annotated[str, typer.Argument(help="The host, such as example.com or example.com:8080.", metavar="HOST")]


def _paused(host: JsonObject) -> str:
    if host["paused_until"] is None:
        return ""
    return f"until {host.at('paused_until')}" + (f": {host['reason']}" if host["reason"] else "")


def _rate(host: JsonObject) -> str:
    return "no limit" if host["rate"] is None else f"{host['rate']:g}/s"


def _headers(host: JsonObject) -> str:
    return ", ".join(f"{name}: {value}" for name, value in sorted(host["headers"].items()))


HOSTS = Table(
    "host, rate, concurrency, crawl delay: crawl_delay, robots, next: @next_at, waiting, paused",
    computed={"rate": _rate, "paused": _paused},
    empty="Nothing has been fetched from any host yet.",
)
HOST = Facts(
    "host, rate, own rate: own_rate, concurrency, crawl delay: crawl_delay, interval, slowed, robots, render,"
    " headers, proxy, next: @next_at, paused, waiting",
    computed={"rate": _rate, "headers": _headers, "paused": lambda host: _paused(host) or "no"},
)


@group.get("/api/hosts", HOSTS, paged=True)
def list_(q: Annotated[str, typer.Option("--query", "-q", help="Part of the name.")] = "") -> None:
    """List hosts: their limits, when each may be requested next, and how many requests wait."""


@group.get("/api/hosts/{host}", HOST)
def show(host: Host) -> None:
    """Show one host."""


@group.put("/api/hosts/{host}", HOST, name="set")
def set_(  # noqa: PLR0913, PLR0917 -- one for each setting
    host: Host,
    rate: Annotated[float | None, typer.Option(help="Requests per second; 0 means no limit.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Concurrent requests.")] = None,
    robots: Annotated[str | None, typer.Option(help="respect, or ignore.")] = None,
    render: Annotated[str | None, typer.Option(help="never, auto or always.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="'Name: value' to send to the host; credentials as {{ secret.NAME }}. May be repeated."),
    ] = None,
    proxy: Annotated[
        str | None, typer.Option(help="Its proxy: {{ secret.NAME }}, http://host:port or socks5://host:port.")
    ] = None,
) -> dict[str, object]:
    """Set the limits of a host; what is left out returns to its default."""
    settings = {"rate": rate, "concurrency": concurrency, "robots": robots, "render": render, "proxy": proxy}
    asked: dict[str, object] = {name: value for name, value in settings.items() if value is not None}
    return asked | ({"headers": dict(map(_header, header))} if header else {})


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise usage(f"--header: must be 'Name: value', got {text!r}")
    return name.strip(), value.strip()


@group.delete("/api/hosts/{host}", HOST, utc=True)
def reset(host: Host) -> None:
    """Reset a host to its defaults."""
