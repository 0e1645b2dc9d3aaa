"""A real SMTP server in a process of its own, which keeps mail in a folder: `python -m tests.mail_server FOLDER`."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from aiosmtpd.handlers import Mailbox
from aiosmtpd.smtp import SMTP


@contextlib.asynccontextmanager
async def mail_server(folder: Path) -> AsyncIterator[int]:
    """The port of a server that ends with the context."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.mail_server", str(folder), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


@contextlib.contextmanager
def serving_mail(folder: Path) -> Iterator[int]:
    """The same for tests that are not asynchronous."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.mail_server", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait()


def mails(folder: Path) -> list[str]:
    """Every mail that arrived."""
    return [path.read_text() for path in sorted((folder / "new").iterdir())] if (folder / "new").exists() else []


async def main(folder: str) -> None:
    """Serve until standard input is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Mailbox(Path(folder)), loop=loop), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
