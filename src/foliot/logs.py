"""Structured logging: a sentence for people, an `action` for machines, with secrets redacted.

Code logs by `structlog.get_logger()`, as in `log.info("3 runs handed back", action="drained", runs=3)`. Fields that
all lines of a context share (tenant, schedule, run) are bound once by `structlog.contextvars.bound_contextvars`. Lines
of uvicorn, asyncio and other libraries go through the same processors.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any, TextIO

import structlog
from structlog.typing import Processor

from foliot.core.redact import Redactor

FILE = "foliot"
"""The default name of a process's log file, without `.log`."""
FILE_BYTES = 20 * 1024 * 1024
FILES_KEPT = 5
MOST_PROCESSES = 1000
"""Of one command, on one directory."""

HIDDEN = "***"
_SECRET_KEY = re.compile(
    r"(?i)authorization|cookie|passw(or)?d|pwd|secret|token|ticket|api[_-]?key|private[_-]?key|credential"
)
_SECRET_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"whsec_[A-Za-z0-9+/=_-]+"), f"whsec_{HIDDEN}"),
    # An API key keeps its hint, which identifies it.
    (re.compile(r"\b(flt_[0-9a-f]{8}_|tkt_)[A-Za-z0-9_-]{20,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(?<=://)[^\s/@:\"']*:[^\s@\"']*@"), f"{HIDDEN}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
    # The token of a Discord bot: its id, a timestamp and a signature.
    (re.compile(r"\b[A-Za-z0-9_-]{20,30}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}"), HIDDEN),
    (re.compile(r"(?i)([?&](?:password|secret|token|ticket|api_?key)=)[^&\s\"']+"), rf"\1{HIDDEN}"),
)
# Control characters and bidirectional controls: with them one line could forge another.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Only a traceback may have several lines; tabs and colours it may not have either.
_CONTROL_IN_TRACEBACK = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DEPTH = 6
# Their debug lines name every statement, parameters included.
_QUIET = ("aiosqlite", "asyncio", "asyncmy", "sqlalchemy", "alembic", "aiohttp", "grpc", "uvicorn", "discord", "mcp")

Line = MutableMapping[str, Any]


def configure(
    *, level: str, form: str, directory: Path | None = None, name: str = FILE, stream: TextIO | None = None
) -> None:
    """Send every log line to `stream` (standard error) as `console` or `json`, and as JSON to a file in `directory`.

    The file is called `name.log`; a process that finds it in use by another takes `name-2.log`, and so on.
    """
    out = sys.stderr if stream is None else stream
    handlers: list[logging.Handler] = [logging.StreamHandler(out)]
    handlers[0].setFormatter(_formatter(_json() if form == "json" else _console(out)))
    if directory is not None:
        handlers.append(_file(directory, name))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level.upper())
    for library in _QUIET:
        logging.getLogger(library).setLevel(max(root.level, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_gathering(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def join() -> None:
    """Inside another program: lines go to its `logging`, which decides what to keep. Where the program has configured
    structlog itself, nothing changes.
    """
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            redact,
            escape,
            structlog.processors.KeyValueRenderer(key_order=["event"], drop_missing=True),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _gathering() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _formatter(renderer: Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_gathering(), structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            escape,
            renderer,
        ],
    )


def _json() -> Processor:
    return structlog.processors.JSONRenderer(sort_keys=False, default=str, ensure_ascii=False)


def _console(stream: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
    )


class _OwnFile(RotatingFileHandler):
    """A log file that only one process writes and rotates, by a lock file beside it."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8", delay=True)
        self._lock_file = lock

    def close(self) -> None:
        super().close()
        self._lock_file.close()


def _file(directory: Path, name: str) -> logging.Handler:
    directory.mkdir(parents=True, exist_ok=True)
    handler = next(
        handler
        for number in range(1, MOST_PROCESSES + 1)
        if (handler := _taken(directory, name if number == 1 else f"{name}-{number}", last=number == MOST_PROCESSES))
    )
    handler.setFormatter(_formatter(_json()))
    return handler


def _taken(directory: Path, name: str, *, last: bool) -> logging.Handler | None:
    """Open the file unless another process has locked it; the kernel releases the lock however a process ends."""
    lock = (directory / f".{name}.lock").open("a", encoding="ascii")
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except BlockingIOError:
        if not last:
            lock.close()
            return None
    return _OwnFile(directory / f"{name}.log", lock)


_hidden: set[str] = set()
_secrets = Redactor()
"""Secrets of all parts in this process, which share its log."""


def hide(values: Iterable[str]) -> None:
    """Redact these values in every later line, in all their usual encodings."""
    global _secrets  # noqa: PLW0603 -- there is one log in a process
    if new := set(values) - _hidden:
        _hidden.update(new)
        _secrets = Redactor.of(new, _secrets)


def redact(_logger: object, _method: str, line: Line) -> Line:
    """Redact by the name of the key, by known formats of credentials, and the values of our own secrets."""
    return {key: HIDDEN if _SECRET_KEY.search(key) else _redacted(value) for key, value in line.items()}


def _redacted(value: Any, depth: int = _DEPTH) -> Any:
    match value:
        case bool() | int() | float() | None:
            return value
        case str():
            for pattern, instead in _SECRET_TEXT:
                value = pattern.sub(instead, value)
            return _secrets.text(value)
        case Mapping() if depth:
            return {
                key: HIDDEN if _SECRET_KEY.search(str(key)) else _redacted(inner, depth - 1)
                for key, inner in value.items()
            }
        case list() | tuple() | set() | frozenset() if depth:
            return [_redacted(inner, depth - 1) for inner in value]
        case _:
            # Other values would be rendered as text later: they become text here, where they are redacted.
            return _redacted(str(value), 0)


def escape(_logger: object, _method: str, line: Line) -> Line:
    """Escape control characters, so that a value cannot forge a line or steer the terminal."""
    return {
        key: _escaped(value, _CONTROL_IN_TRACEBACK if key == "exception" else _CONTROL) for key, value in line.items()
    }


def _escaped(value: Any, control: re.Pattern[str]) -> Any:
    match value:
        case str():
            return control.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
        case dict():
            return {_escaped(str(key), control): _escaped(inner, control) for key, inner in value.items()}
        case list():
            return [_escaped(inner, control) for inner in value]
        case _:
            return value
