"""Limits on the layout of the code that a linter cannot check."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import SLOW
from tests.shape import CLIENT, GERUNDS, doubled, folders, is_gerund, modules, protocols

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "foliot"
# What a compiler writes is as long as it is: `make check` compares it with `proto/`.
MODULES = sorted(
    path
    for path in SOURCE.rglob("*.py")
    if not path.stem.endswith(("_pb2", "_pb2_grpc")) and path.relative_to(SOURCE).as_posix() not in CLIENT
)

LINES = 400
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "service", "services", "base"}

FLAT = 25
TEST_LINES = 600
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))

LONG = {"tests/mutants/table.py": "one table, a few lines for each mutant"}
"""The only test modules that may be longer, each with its reason."""

TWICE = {
    "Schedule": "what the engine fires, and its declaration in answers",
    **dict.fromkeys(
        ("Conflict", "FoliotError", "Forbidden", "Invalid", "NotFound", "TooMany", "Unauthenticated", "Unavailable"),
        "the server's error, and the client's, which is packed without the server",
    ),
}
"""The only class names that are defined twice: the value, and the declaration that the API shows by the same word."""

ONE_IMPLEMENTATION: dict[str, str] = {
    "ArticleSink": "tests count what each round writes",
    "Broker": "Celery is optional, and the engine must not import it",
    "CrawlTargets": "crawls may look up names and call nothing: the port leaves out the rest of the client",
    "DefinitionFile": "tests hand over the text of each poll",
    "EventReader": "a server imports no feature",
    "FileSinkWriter": "what `SinkFiles` opens, which model states without the files",
    "Monitor": "Celery is optional, and the engine must not import it",
    "PageSessions": "sessions of hosts import what fetching declares: the class itself would be a cycle",
    "Renderer": "tests answer without a browser",
    "Scraper": "the tests of the fetcher answer pages without a network",
    "ScrapydProbe": "health may not import what crawls do",
    "SigningSecrets": "webhooks may not import the cache of secrets, whose keys it holds",
    "WorkerPool": "the executor uses the broker, whose receiver offers runs to it: the class itself would be a cycle",
}
"""The only Protocols with one implementation, each with the reason why the class itself is not named."""

LOOPS = {"engine/loop.py"}
"""The only places that go round for ever."""

WAITS = {
    "engine/loop.py": "the loop decides how long to sleep",
    "servers/http/run_broadcast.py": "many followers are told a few times a second, not at every line",
    "features/runs/usecases/runs.py": "a reader of a backlog pauses as long as each batch took",
    "features/articles/actor/fetcher.py": "a page is fetched when its host's turn has come",
    "features/pipelines/steps/discord_sink.py": "Discord says how long it wants to be left alone",
    "features/pipelines/steps/fetchers.py": "a host is asked no more often than a pipeline says",
    "scrapy/politeness_middleware.py": "a request of a spider is sent when its host's turn has come",
    "net/client.py": "an unreachable target takes the same time, whatever the reason",
    "net/tcp.py": "an unreachable target takes the same time, whatever the reason",
    "client/async_session.py": "a program's own client waits before it repeats a request",
    "commands/limits.py": "an address that shows many wrong keys is answered late",
}
"""The only places that wait for time to pass, each with its reason."""


def place(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(), filename=str(module))


def faulty(at_fault: Callable[[Path], object], modules: Iterable[Path] = MODULES) -> dict[str, object]:
    """What is wrong with each module that has a fault."""
    found = {module.relative_to(ROOT).as_posix(): at_fault(module) for module in modules}
    return {name: fault for name, fault in found.items() if fault}


def calls(module: Path, is_fault: Callable[[ast.AST], bool]) -> list[int]:
    """The lines of the nodes that are at fault."""
    return [getattr(node, "lineno", 0) for node in ast.walk(tree(module)) if is_fault(node)]


def lines(module: Path) -> int:
    return len(module.read_text().splitlines())


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 500
    assert len(TEST_MODULES) > 300


def test_a_module_is_one_reading() -> None:
    assert faulty(lambda module: lines(module) > LINES and lines(module)) == {}, "split it by what its parts do"


def test_a_module_is_named_for_what_it_does() -> None:
    assert faulty(lambda module: VAGUE & set(module.relative_to(SOURCE).with_suffix("").parts)) == {}


def test_a_module_is_named_for_a_thing_and_not_for_an_activity() -> None:
    gerunds = faulty(lambda module: "migrations" not in module.parts and is_gerund(module))

    assert gerunds == {}, f"name it for what it holds; allowed: {', '.join(GERUNDS)}"


def test_a_class_name_is_defined_once() -> None:
    assert {name: where for name, where in doubled(modules()).items() if name not in TWICE} == {}


def test_few_class_names_are_defined_twice_and_each_exception_is_still_needed() -> None:
    assert len(TWICE) <= 10
    assert [name for name in TWICE if name not in doubled(modules())] == []


def test_a_protocol_has_two_implementations_or_a_reason() -> None:
    single = protocols(modules())

    assert {name: those for name, those in single.items() if name not in ONE_IMPLEMENTATION} == {}, "name the class"
    assert [name for name in ONE_IMPLEMENTATION if name not in single] == [], "no longer needed"


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    large = {folder: len(files) for folder, files in folders(modules()).items() if len(files) > FLAT}

    assert large == {}, "make folders of what belongs together"


def test_a_test_module_is_about_one_topic() -> None:
    long = faulty(lambda module: lines(module) > TEST_LINES and lines(module), TEST_MODULES)

    assert long.keys() - LONG.keys() == set(), "split it by topic"


def test_a_module_says_what_it_is_for() -> None:
    assert faulty(lambda module: not ast.get_docstring(tree(module))) == {}, "write one sentence at its top"


def goes_round_for_ever(node: ast.AST) -> bool:
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def test_only_the_loop_goes_round_for_ever() -> None:
    endless = faulty(lambda module: place(module) not in LOOPS and calls(module, goes_round_for_ever))

    assert endless == {}, "give it a run_once() and let engine/loop.py repeat it"


def test_only_the_loop_waits() -> None:
    sleeps = faulty(lambda module: place(module) not in WAITS and calls(module, waits))

    assert sleeps == {}, "wait for an event, or list it in WAITS with its reason"


def waits(node: ast.AST) -> bool:
    """Whether this is `asyncio.sleep(x)`, by that name or imported; `sleep(0)` only lets others go first."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio" | "anyio"), attr="sleep"), args=[ast.Constant(value=0)]
        ):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio" | "anyio"), attr="sleep")):
            return True
        case ast.ImportFrom(module="asyncio" | "anyio", names=names):
            return any(name.name == "sleep" for name in names)
        case _:
            return False


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("asyncio.sleep(1)", True),
        ("asyncio.sleep(pause)", True),
        ("from asyncio import sleep", True),
        ("asyncio.sleep(0)", False),
        ("asyncio.wait_for(event.wait(), 1)", False),
    ],
)
def test_the_check_on_waiting_knows_a_wait_when_it_sees_one(code: str, verdict: bool) -> None:
    assert any(waits(node) for node in ast.walk(ast.parse(code))) is verdict


SHARED = {
    "cli/serve_output.py": "the browser that a person asked for",
    "scrapy/egress_middleware.py": "a spider's own process",
    "scrapy/politeness_middleware.py": "a spider's own process",
    "testing.py": "a test's own process",
}
"""The only places that use the loop's own threads, which everybody shares."""


def uses_shared_threads(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="to_thread")):
            return True
        case ast.Call(func=ast.Attribute(attr="run_in_executor"), args=[ast.Constant(), *_]):
            return True
        case _:
            return False


def test_requests_and_work_share_no_threads() -> None:
    found = faulty(lambda module: place(module) not in SHARED and calls(module, uses_shared_threads))

    assert found == {}, "use REQUESTS or WORK of core/threads.py"


@pytest.mark.parametrize(
    ("is_fault", "code", "verdict"),
    [
        (goes_round_for_ever, "while True: pass", True),
        (goes_round_for_ever, "while not done: pass", False),
        (uses_shared_threads, "asyncio.to_thread(work)", True),
        (uses_shared_threads, "loop.run_in_executor(None, work)", True),
        (uses_shared_threads, "loop.run_in_executor(WORK, work)", False),
    ],
)
def test_the_checks_know_a_fault_when_they_see_one(
    is_fault: Callable[[ast.AST], bool], code: str, verdict: bool
) -> None:
    assert any(is_fault(node) for node in ast.walk(ast.parse(code))) is verdict


def test_every_listed_exception_is_still_needed() -> None:
    if (SOURCE / "engine").exists() and any((SOURCE / "engine").glob("*.py")):
        assert [name for name in {*LOOPS, *WAITS, *SHARED} if not (SOURCE / name).exists()] == []
    assert [name for name in LONG if not (ROOT / name).exists()] == []
    assert [name for name in SLOW if not (ROOT / "tests" / name).exists()] == []


# --- the repository ---------------------------------------------------------------------------------------------------

# Written in pieces, so that this file passes its own check.
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w.{}$~-])/(?:root|work|Users" + r")/\w",  # a path of somebody's machine
            r"(?<![\w.{}$~-])/home" + r"/\w",
            r"(?<![\w.{}$~-])/opt/(?:pypi" + r"|wheels)",
            r"py" + r"pi\.org",  # the host of a registry: which one is used is the reader's affair
            r"python" + r"hosted\.org",
            r"registry\.npm" + r"js",
            r"registry\.yarn" + r"pkg",
            r"static\.crates" + r"\.io",
        ]
    )
)


def repository_files() -> list[Path]:
    """Everything tracked, and everything about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:  # an unpacked archive has no history to ask
        pytest.skip("not a git working tree")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    findings = []
    for path in repository_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        findings += [
            f"{path.relative_to(ROOT)}:{number}: {found.group()}"
            for number, line in enumerate(text.splitlines(), 1)
            if (found := FOREIGN.search(line))
        ]

    assert findings == []


@pytest.mark.parametrize("line", ["see /ro" + "ot/x", 'path = "/wo' + 'rk/main"', "https://py" + "pi.org/simple"])
def test_the_check_on_machine_names_finds_them(line: str) -> None:
    assert FOREIGN.search(line)


@pytest.mark.parametrize("line", ["GET /api/work/queue", "{base}/roots/x", "the /metrics route", "~/work/x"])
def test_the_check_on_machine_names_leaves_routes_alone(line: str) -> None:
    assert not FOREIGN.search(line)


def test_no_file_is_larger_than_text_needs() -> None:
    assert [str(path) for path in repository_files() if path.stat().st_size > 1_000_000] == []


def test_constraints_are_bare_names_and_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()

    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+-]+", line)] == []
    assert lines == sorted(lines, key=str.upper)


DECISIONS = [path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md"]


def test_decisions_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in DECISIONS)

    assert [name for name in names if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)] == []
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_a_decision_is_read_in_a_minute() -> None:
    long = {path.name for path in DECISIONS if len(path.read_text().splitlines()) > 70}

    assert long == set()


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    assert re.search(r"^## \[Unreleased\]$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
