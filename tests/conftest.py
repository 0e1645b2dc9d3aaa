"""Fixtures every test may ask for, and the closing word about servers that were not there."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import structlog
import typer.testing
from sqlalchemy import URL

from tests import databases, mongo_server, nursery, rabbitmq_server, redis_server, services
from tests.scrapyd_server import DISCOVERYBOT, TESTBOT, ScrapydServer, a_scrapyd
from tests.services import KINDS, Missing, absent, wait_for
from tests.store_fixtures import client, logged, migrated_sqlite, store, world  # noqa: F401 -- fixtures

SERVERS = [pytest.param(name, marks=pytest.mark.services) for name in KINDS]
DATABASES = ["sqlite", *SERVERS]
OTHERS = {"RabbitMQ": rabbitmq_server.MISSING, "Redis": redis_server.MISSING, "MongoDB": mongo_server.MISSING}
"""Why tests of other servers are skipped where there is none."""

for renderer in structlog.get_config()["processors"]:
    if isinstance(renderer, structlog.dev.ConsoleRenderer):
        # Where logging is not set up, tracebacks are drawn with every local, which takes seconds each.
        renderer.exception_formatter = structlog.dev.plain_traceback

# How long an example takes depends on what else the machine does; pytest's own limit ends what does not end.
hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")

# The command line is the same for every test, and takes a tenth of a second to make.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

SLOW = (
    "acceptance", "browser", "cluster", "mutants", "scrapy", "seeds",
    "app/test_embed.py", "app/test_health_file.py",
    "client/test_operations.py", "client/test_package.py", "cli/test_cli_backups.py",
    "core/time/test_trigger_oracle.py",
    "db/test_durability.py",
    "engine/sql/test_run_life.py", "engine/test_fairness.py", "engine/test_guarantees.py",
    "engine/test_hanging_targets.py", "engine/test_log_floods.py", "engine/test_parked.py",
    "features/articles/test_fetcher.py", "features/articles/test_mongo.py", "features/articles/test_scraper.py",
    "features/crawls/test_crawl_action.py", "features/crawls/test_deploy.py", "features/crawls/test_scrapyd_server.py",
    "features/discord/test_discord_commands.py", "features/grpc_calls/test_grpc_call.py",
    "features/ledger/test_cli_audit.py", "features/pipelines/test_pipelines_file_watch.py",
    "net/test_address_zoo.py", "net/test_decompression_bombs.py", "pages/test_article_library.py",
    "pages/test_hostile_pages.py", "repository/test_nursery.py", "repository/test_services.py",
    "servers/grpc/test_access.py", "servers/http/test_body_fuzz.py", "servers/http/test_openapi_fuzz.py",
    "servers/test_access_matrix.py",
)  # fmt: skip
"""What starts processes, waits for real time or tries very many cases: `make test-fast` leaves it out."""

Session = Callable[[str, str], URL]
Emptied = Callable[[str], str]


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path, emptied: Emptied) -> str:
    """A database without rows, once on SQLite, once on PostgreSQL, once on MariaDB.

    Servers keep the tables from test to test, SQLite starts bare: migrate first, which costs nothing at the newest
    revision. A test that changes the schema asks for `bare_database_url`.
    """
    return _sqlite(tmp_path) if request.param == "sqlite" else emptied(request.param)


@pytest.fixture(params=SERVERS)
def server_database_url(request: pytest.FixtureRequest, emptied: Emptied) -> str:
    """Like `database_url`, on the two servers only: for what several processes do to one database."""
    return emptied(request.param)


@pytest.fixture
def sqlite_database_url(tmp_path: Path) -> str:
    """A bare SQLite database in a file of its own."""
    return _sqlite(tmp_path)


@pytest.fixture(params=DATABASES)
def bare_database_url(request: pytest.FixtureRequest, tmp_path: Path, databases_of_session: Session) -> str:
    """A database without tables, on all three: for migrations."""
    if request.param == "sqlite":
        return _sqlite(tmp_path)
    url = databases_of_session(request.param, "bare")
    wait_for(databases.raze(url))
    return url.render_as_string(hide_password=False)


def _sqlite(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'foliot.db'}"


@pytest.fixture(scope="session")
def emptied(databases_of_session: Session) -> Iterator[Emptied]:
    """Deletes every row of this process's database on a server, and says where it is."""
    cleaner = databases.Cleaner()

    def empty(kind: str) -> str:
        url = databases_of_session(kind, "main")
        cleaner.clean(url)
        return url.render_as_string(hide_password=False)

    yield empty
    cleaner.close()


@pytest.fixture(scope="session")
def databases_of_session(worker_id: str) -> Iterator[Session]:
    """Gives this process's own database on a server, made when first asked for and dropped at the end."""
    made: dict[tuple[str, str], tuple[URL, URL]] = {}

    def give(kind: str, purpose: str) -> URL:
        if (kind, purpose) not in made:
            server = _server(kind)
            name = f"{databases.PREFIX}{os.getpid()}_{worker_id}" + ("" if purpose == "main" else f"_{purpose}")
            wait_for(databases.drop(server, name))
            made[kind, purpose] = server, wait_for(databases.create(server, name))
        return made[kind, purpose][1]

    yield give
    for server, url in made.values():
        assert url.database is not None
        wait_for(databases.drop(server, url.database))


def _server(kind: str) -> URL:
    try:
        return services.find(KINDS[kind])
    except Missing as missing:
        absent(missing)


@pytest.fixture(scope="session")
def scrapyd_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScrapydServer]:
    """One Scrapyd with the example project and the tests' own: starting another costs seconds."""
    with a_scrapyd(tmp_path_factory.mktemp("scrapyd") / "home", DISCOVERYBOT, TESTBOT) as server:
        yield server


@pytest.fixture
def scrapyd(scrapyd_of_session: ScrapydServer) -> ScrapydServer:
    """A Scrapyd on which nothing runs. A test that kills or restarts one starts its own with `a_scrapyd`."""
    if not scrapyd_of_session.answers():
        scrapyd_of_session.restart()
    scrapyd_of_session.reset()
    return scrapyd_of_session


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    """Which of the parallel test processes this is; `main` when there is one."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


# --- private servers live as long as the run --------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    # Hundreds of processes are started here; where nothing compiled may be kept, each would compile all of Foliot.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Thousands of tests are collected, and stay.
    gc.set_threshold(100_000, 50, 100)
    nursery.let_children_hear()
    config.add_cleanup(nursery.close)
    if _is_worker(config):
        return
    _write_to_memory(config)
    directory = tempfile.mkdtemp(prefix="foliot-services-")
    os.environ[services.SHARED] = directory
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
    config.add_cleanup(services.stop_private)


def _write_to_memory(config: pytest.Config) -> None:
    """Let files of tests, and of what they start, lie in memory, unless --basetemp or TMPDIR says where.

    A database that is on a disk waits for it at each commit; here nobody needs it after the run.
    """
    memory = services.roomy_memory()
    if memory is None or config.getoption("basetemp") or "TMPDIR" in os.environ:
        return
    directory = tempfile.mkdtemp(prefix="foliot-tests-", dir=memory)
    # Servers that refuse to be root have theirs below it.
    Path(directory).chmod(0o711)
    os.environ["TMPDIR"] = tempfile.tempdir = directory
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


def pytest_itemcollected(item: pytest.Item) -> None:
    here = Path(__file__).parent
    if here in item.path.parents and item.path.relative_to(here).as_posix().startswith(SLOW):
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no process is left alone with it at the end."""
    here = Path(__file__).parent
    slow = {
        "browser": 0,
        "acceptance": 1,
        "seeds": 2,
        "engine": 3,
        "cluster": 3,
        "core": 5,
        "config": 5,
        "repository": 5,
    }
    items.sort(key=lambda item: slow.get(item.path.relative_to(here).parts[0], 4) if here in item.path.parents else 4)


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: bytes may hold a time of day, and every process must collect the same names."""
    return argname if isinstance(val, bytes) else None


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the suites that did not run for want of a server, and the command that would make them run."""
    named = [(kind.title, str(Missing(kind)), f"{kind.install}   (or name a server in {kind.variable})")
             for kind in KINDS.values()]  # fmt: skip
    named += [(title, reason, reason.partition(": ")[2]) for title, reason in OTHERS.items()]
    for title, reason, install in named:
        suites = Counter(
            report.nodeid.partition("::")[0]
            for report in terminalreporter.stats.get("skipped", [])
            if isinstance(report.longrepr, tuple) and reason in report.longrepr[2]
        )
        if suites:
            terminalreporter.section(f"not run: no {title} here", yellow=True, bold=True)
            for suite, count in sorted(suites.items()):
                terminalreporter.line(f"{suite}: {count} test{'s' if count > 1 else ''}")
            terminalreporter.line(f"Install it with: {install}")
