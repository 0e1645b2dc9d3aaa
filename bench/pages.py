"""Pages as a newspaper would serve them, about 57 KB each, and a server in a process of its own that does nothing else.

python bench/pages.py      prints its port, and serves /a/0, /a/1 … until its standard input ends
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGES = 200
"""Different ones; any number of addresses leads to them."""
WORDS = """
market city council report minister energy price growth company water school train winter climate number
people study research found according year month during several between public private service network
system open data local national region health doctor patient court police music film team season match
player goal coach because although however while
""".split()  # noqa: SIM905 -- shorter to read


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(8, 22))).capitalize() + "."


def paragraph(chance: random.Random) -> str:
    return " ".join(sentence(chance) for _ in range(chance.randint(3, 6)))


def teaser(chance: random.Random, number: int) -> str:
    return (
        f'<div class="teaser card shadow-sm"><a href="/a/{chance.randint(0, 9999)}"><img src="/img/{number}.jpg" alt=""'
        f' loading="lazy" width="320" height="180"><h3 class="card-title">{sentence(chance)}</h3></a>'
        f'<p class="card-text">{sentence(chance)}</p><span class="meta">{chance.randint(1, 59)} min</span></div>'
    )


def page(number: int) -> str:
    """The same for the same number."""
    chance = random.Random(number)
    title = " ".join(chance.choice(WORDS) for _ in range(8)).capitalize()
    menu = "".join(f'<li class="nav-item"><a class="nav-link" href="/section/{word}">{word}</a></li>' for word in WORDS)
    css = "".join(f".c{at}-{chance.randint(0, 999)}{{margin:{at}px;color:#{at:06x};display:flex}}" for at in range(160))
    js = "".join(
        f'dataLayer.push({{"event":"e{at}","id":{chance.randint(0, 10**9)},"page":"article"}});' for at in range(90)
    )
    body = "".join(
        f"<p>{paragraph(chance)}</p>"
        + (f"<h2>{sentence(chance)}</h2>" if at % 4 == 3 else "")
        + (f'<figure><img src="/b{at}.jpg"><figcaption>{sentence(chance)}</figcaption></figure>' if at % 6 == 5 else "")
        for at in range(18)
    )
    comments = "".join(f'<div class="comment"><b>user{at}</b><p>{sentence(chance)}</p></div>' for at in range(15))
    left, right = ("".join(teaser(chance, at) for at in range(many)) for many in (14, 22))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - Example News</title>'
        f'<meta name="description" content="{sentence(chance)}"><meta property="og:title" content="{title}">'
        '<meta name="author" content="Ann Example">'
        f'<meta property="article:published_time" content="2026-0{number % 9 + 1}-1{number % 9}T08:00:00Z">'
        f'<link rel="canonical" href="https://news.example/a/{number}"><style>{css}</style><script>{js}</script></head>'
        f'<body><header class="site"><nav><ul>{menu}</ul></nav></header><div class="wrap"><aside class="left">{left}'
        f'</aside><main><article><h1>{title}</h1><p class="byline">By Ann Example</p>{body}</article>'
        f'<section class="comments">{comments}</section></main><aside class="right">{right}</aside></div>'
        f"<footer><ul>{menu}</ul><p>{paragraph(chance)}</p></footer><script>{js[:4000]}</script></body></html>"
    )


class Serving(asyncio.Protocol):
    """Answers each request with bytes that were made before; reads no more of it than its path."""

    answers: tuple[bytes, ...] = ()
    nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.heard = b""

    def data_received(self, data: bytes) -> None:
        self.heard += data
        while b"\r\n\r\n" in self.heard:
            head, _, self.heard = self.heard.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            number = path.removeprefix(b"/a/")
            answer = self.answers[int(number) % len(self.answers)] if number.isdigit() else self.nothing
            self.transport.write(answer)  # type: ignore[attr-defined]


async def serve() -> None:
    made = [page(number).encode() for number in range(PAGES)]
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n"
    Serving.answers = tuple(head.format(len(body)).encode() + body for body in made)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Serving, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def serving() -> Iterator[str]:
    """The beginning of every page's URL."""
    command = [sys.executable, str(Path(__file__))]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = int((running.stdout or sys.stdin).readline())
        yield f"http://127.0.0.1:{port}/a/"
    finally:
        running.communicate(timeout=10)


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve())
