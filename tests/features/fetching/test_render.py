"""Pages in a real browser: what scripts make is read, and what they ask of anything but the web reaches nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from foliot.cluster.process_tree import descendants
from foliot.features.fetching.access import HostAccess
from foliot.features.fetching.model import FetchFailure, Page
from foliot.net.allow import EgressRules
from tests.cluster.test_process_tree import all_gone
from tests.features.fetching.rendered import MEBIBYTE, SCRIPTED, Document, processes_of, program, renderer, site, wanted
from tests.net.outside import serving

pytestmark = pytest.mark.slow


async def test_a_page_made_by_a_script_is_read() -> None:
    async with site({"/": SCRIPTED}) as shop, renderer() as browsers:
        page = await browsers.render(wanted(shop.url(), wait_for=".price"))
    assert isinstance(page, Page)
    assert page.rendered is not None
    assert b"A price by script</h1>" in page.rendered
    assert page.body == SCRIPTED.encode()
    assert (page.status, page.url, page.content_type) == (200, shop.url(), "text/html; charset=utf-8")
    assert browsers.counts.pages == {"rendered": 1}


HOSTILE = """<!doctype html><body><div id=out></div><script>
const decoy = "PORT", said = [];
const late = () => new Promise((_, no) => setTimeout(() => no("late"), 1500));
async function attempt(name, f) { try { await Promise.race([f(), late()]); said.push(name) } catch { } }
const loads = (tag, src) => new Promise((yes, no) => {
  const e = document.createElement(tag); e.onload = yes; e.onerror = no; e.src = src; document.body.append(e) });
(async () => {
  for (const host of ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", "rebound.test", "2130706433"]) {
    await attempt("fetch " + host, async () => {
      const r = await fetch(`http://${host}:${decoy}/secret`); if (!r.ok) throw r.status });
    await attempt("https " + host, () => fetch(`https://${host}:${decoy}/secret`, {mode: "no-cors"}));
  }
  await attempt("image", () => loads("img", `http://127.0.0.1:${decoy}/i.png`));
  await attempt("script", () => loads("script", `http://127.0.0.1:${decoy}/s.js`));
  loads("iframe", `http://127.0.0.1:${decoy}/frame`).catch(() => 0);
  navigator.sendBeacon(`http://127.0.0.1:${decoy}/beacon`);
  for (const rel of ["prefetch", "preconnect", "dns-prefetch", "prerender", "stylesheet"]) {
    const l = document.createElement("link"); l.rel = rel; l.href = `http://127.0.0.1:${decoy}/${rel}`;
    document.head.append(l) }
  await attempt("websocket", () => new Promise((yes, no) => {
    const w = new WebSocket(`ws://127.0.0.1:${location.port}/ws`); w.onopen = yes; w.onerror = no }));
  await attempt("worker", () => new Promise((yes, no) => {
    const code = `const w = new WebSocket("ws://127.0.0.1:${location.port}/worker");
      w.onopen = () => postMessage("open"); w.onerror = () => postMessage("closed")`;
    new Worker(URL.createObjectURL(new Blob([code]))).onmessage = e => e.data === "open" ? yes() : no() }));
  await attempt("rtc", async () => {
    const p = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}]});
    p.createDataChannel("x"); await p.setLocalDescription(await p.createOffer());
    await new Promise(r => setTimeout(r, 1000)) });
  navigator.serviceWorker?.register("/sw.js").catch(() => 0);
  window.open(`http://127.0.0.1:${decoy}/popup`);
  await new Promise(r => setTimeout(r, 300));
  document.getElementById("out").textContent = "reached: " + said.join(", ");
})();
</script>"""


async def test_a_hostile_page_reaches_no_decoy() -> None:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    async with serving() as decoy:
        hostile = HOSTILE.replace("PORT", str(decoy.port)).replace("UDP", str(udp.getsockname()[1]))
        async with site({"/": hostile, "/sw.js": ("text/javascript", b"")}) as shop, renderer(seconds=40) as browsers:
            page = await browsers.render(wanted(shop.url(), wait_for="#out:not(:empty)"))
            assert isinstance(page, Page), page
            assert page.rendered is not None
            assert b'<div id="out">reached: </div>' in page.rendered
            assert browsers.counts.refused > 5
        assert decoy.connections == 0
    assert [path for path in shop.paths if path not in {"/", "/favicon.ico"}] == []
    with pytest.raises(BlockingIOError):
        udp.recv(1)
    udp.close()


async def test_images_fonts_and_downloads_are_left_out_unless_they_are_wanted() -> None:
    pages: dict[str, Document] = {
        "/": "<img src=/i.png><video src=/v.mp4></video><p id=t>text</p>",
        "/i.png": ("image/png", b"x"),
        "/v.mp4": ("video/mp4", b"x"),
        "/file": ("application/octet-stream", b"x" * 100),
    }
    async with site(pages) as shop, renderer() as browsers:
        assert isinstance(await browsers.render(wanted(shop.url())), Page)
        assert "/i.png" not in shop.paths
        assert isinstance(await browsers.render(wanted(shop.url(), load=["image"])), Page)
        assert "/i.png" in shop.paths
        assert "/v.mp4" not in shop.paths
        failure = await browsers.render(wanted(shop.url("/file")))
        assert isinstance(failure, FetchFailure)
        assert (failure.problem.code, failure.permanent) == ("not_html", True)


LOGIN = """<form onsubmit="fetch('/in?' + q.value); out.textContent = 'welcome ' + q.value; return false">
<input id=q><button id=go>Go</button></form><p id=out></p><div style="height: 5000px"></div>
<script>addEventListener("scroll", () => document.body.dataset.scrolled = "yes")</script>"""


async def test_steps_click_fill_press_and_scroll_and_a_secret_is_typed() -> None:
    steps = [
        {"do": "fill", "selector": "#q", "value": "{{ secret.SHOP_PASSWORD }}"},
        {"do": "click", "selector": "#go"},
        {"do": "wait_for", "selector": "#out:not(:empty)"},
        {"do": "press", "key": "Tab"},
    ]
    async with site({"/": LOGIN, "/in": "ok"}) as shop, renderer(secrets={"SHOP_PASSWORD": "hunter2"}) as browsers:
        page = await browsers.render(wanted(shop.url(), steps=steps, scroll=3))
        assert isinstance(page, Page), page
        assert page.rendered is not None
        assert b"welcome hunter2" in page.rendered
        assert b'data-scrolled="yes"' in page.rendered
        missing = await browsers.render(wanted(shop.url(), steps=[{**steps[0], "value": "{{ secret.NONE }}"}]))
        assert isinstance(missing, FetchFailure)
        assert missing.problem.code == "secret_missing"


async def test_a_step_that_finds_nothing_and_a_selector_that_never_comes_are_named() -> None:
    async with site({"/": "<p>text</p>"}) as shop, renderer(seconds=4) as browsers:
        failure = await browsers.render(wanted(shop.url(), steps=[{"do": "click", "selector": "#none"}]))
        assert isinstance(failure, FetchFailure)
        assert failure.problem.code == "step_failed"
        assert "click '#none'" in failure.problem.message
        failure = await browsers.render(wanted(shop.url(), wait_for="#never"))
        assert isinstance(failure, FetchFailure)
        assert failure.problem.code == "selector_missing"


async def test_a_secret_is_not_typed_where_the_page_has_gone() -> None:
    typed = "<input id=q oninput=\"fetch('/typed?' + this.value)\">"
    async with site({"/": typed}) as other, site({"/": f"<script>location = '{other.url()}'</script>"}) as shop:
        both = [f"127.0.0.1:{each.port}" for each in (other, shop)]
        rules = EgressRules.read(loopback=False, allow=both, ports=[])
        async with renderer(secrets={"S": "hunter2"}, rules=rules) as browsers:
            plain = {"do": "fill", "selector": "#q", "value": "no secret"}
            assert isinstance(await browsers.render(wanted(shop.url(), steps=[plain])), Page)
            failure = await browsers.render(wanted(shop.url(), steps=[{**plain, "value": "{{ secret.S }}"}]))
    assert isinstance(failure, FetchFailure)
    assert failure.problem.code == "step_failed"
    assert "hunter2" not in failure.problem.message
    assert not any("hunter2" in path for path in other.paths)


async def test_headers_go_to_the_host_of_the_page_alone() -> None:
    async with (
        site({"/x.js": ("text/javascript", b"")}) as other,
        site({"/": f"<script src='{other.url('/x.js')}'></script><p>text</p>"}) as shop,
    ):
        both = [f"127.0.0.1:{each.port}" for each in (other, shop)]
        async with renderer(rules=EgressRules.read(loopback=False, allow=both, ports=[])) as browsers:
            await browsers.render(wanted(shop.url(), headers={"X-Token": "abc"}))
    assert "x-token: abc" in shop.heads[0].lower()
    assert other.paths == ["/x.js"]
    assert "x-token" not in other.heads[0].lower()


async def test_a_host_with_extra_headers_is_not_rendered() -> None:
    """A browser would repeat them at a redirect to another host."""
    async with site({"/": "<p>text</p>"}) as shop, renderer() as browsers:
        asked = wanted(shop.url())
        access = HostAccess(headers={"X-Key": "{{ secret.KEY }}"})
        failure = await browsers.render(replace(asked, options=replace(asked.options, access=access)))

    assert isinstance(failure, FetchFailure)
    assert (failure.problem.code, failure.permanent) == ("headers_not_rendered", True)
    assert shop.paths == []


async def test_a_page_that_never_ends_is_killed_with_its_browser_and_the_next_one_is_read() -> None:
    pages = {"/busy": "<script>while (true) {}</script>", "/": "<p>text</p>"}
    async with site(pages) as shop, renderer(seconds=8) as browsers:
        first = await browsers.render(wanted(shop.url()))
        before = processes_of(browsers)
        failure = await browsers.render(wanted(shop.url("/busy")))
        assert isinstance(first, Page)
        assert isinstance(failure, FetchFailure)
        assert failure.problem.code in {"target_timeout", "render_timeout"}
        assert isinstance(await browsers.render(wanted(shop.url())), Page)
        await browsers.close()
        assert await asyncio.to_thread(all_gone, before)


async def test_a_page_that_fills_the_memory_is_killed_and_its_host_waits() -> None:
    hoard = "<script>const kept = []; setInterval(() => kept.push(new Uint8Array(64e6).fill(1)), 20)</script>"
    async with site({"/": hoard}) as shop, renderer(memory=500 * MEBIBYTE, seconds=20) as browsers:
        failure = await browsers.render(wanted(shop.url(), wait_for="#never"))
    assert isinstance(failure, FetchFailure)
    assert failure.problem.code in {"render_crashed", "page_crashed"}
    assert failure.problem.code != "render_crashed" or failure.pause is not None


async def test_a_browser_is_replaced_after_its_pages_and_knows_no_secret_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOLIOT_JWT_SECRET", "canary-canary-canary-canary-canary-")
    async with site({"/": "<p>text</p>"}) as shop, renderer(pages=2) as browsers:
        seen: list[list[int]] = []
        read: set[int] = set()
        for _ in range(3):
            assert isinstance(await browsers.render(wanted(shop.url())), Page)
            ours = processes_of(browsers)
            seen.append(_browsers(ours))
            for pid in ours:
                with contextlib.suppress(OSError):
                    environ = Path(f"/proc/{pid}/environ").read_bytes()
                    read.update([pid] if environ else [])
                    assert b"canary" not in environ
                    assert b"FOLIOT_" not in environ
            if len(seen) == 2:
                assert await asyncio.to_thread(all_gone, seen[0])
    assert read & {*seen[0]}
    assert read & {*seen[2]}


def _browsers(pids: Iterable[int]) -> list[int]:
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith(("chrom", "headless")):
                found.append(pid)
    return found


WORKER = """
import asyncio, os, sys
from tests.features.fetching.rendered import renderer, wanted
async def main():
    async with renderer(seconds=50) as browsers:
        async def tell():
            await asyncio.sleep(0)
        asyncio.create_task(tell())
        await browsers.render(wanted(sys.argv[1], wait_for="#never"))
asyncio.run(main())
"""


async def test_nothing_is_left_when_the_worker_is_killed() -> None:
    async with site({"/": "<p>text</p><script>fetch('/seen')</script>", "/seen": ""}) as shop:
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, shop.url(), cwd=Path.cwd())
        async with asyncio.timeout(50):
            while "/seen" not in shop.paths:
                await asyncio.sleep(0.05)
        pids = list(descendants(worker.pid))
        assert _browsers(pids)
        os.kill(worker.pid, signal.SIGKILL)
        await worker.wait()
        assert await asyncio.to_thread(all_gone, pids)


async def test_a_browser_that_runs_already_is_used_by_its_address(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [program(), "--headless", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={tmp_path}"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        line = await asyncio.to_thread(_listening, process)
        address = line.rpartition(" ")[2].strip()
        async with (
            serving() as decoy,
            site({"/": SCRIPTED + f"<script>fetch('http://127.0.0.1:{decoy.port}/')</script>"}) as shop,
        ):
            for url in (address, "http://" + address.split("/")[2]):
                async with renderer(url=url) as browsers:
                    page = await browsers.render(wanted(shop.url(), wait_for=".price"))
                    assert isinstance(page, Page), page
            assert decoy.connections == 0
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _listening(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return next(line for line in process.stderr if "DevTools listening on" in line)
