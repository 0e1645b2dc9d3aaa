"""Settings of what runs do: crawls, articles, tasks, pipelines, and the sinks of their results."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.commands import CommandSettings
from foliot.config.parse import SecretValue, about
from foliot.core.access import KEEPER

_NODES_RULE = (
    "must be the URL of a Scrapyd, such as http://scrapyd:6800 or https://user:password@scrapyd.internal, or several "
    "separated by commas, with / : @ # , and ? in a password percent-encoded"
)
_PROJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def scrapyd_urls(text: str) -> tuple[SecretValue, ...]:
    """The nodes without duplicates, in the order given."""
    urls = [_one(part) for part in reading.entries(text)]
    if not urls:
        raise ValueError(_NODES_RULE)
    places = [url.rpartition("@")[2].rpartition("://")[2].lower() for url in urls]
    if len(set(places)) < len(places):
        raise ValueError("must name each Scrapyd once")
    return tuple(SecretValue(url) for url in urls)


def _one(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_NODES_RULE) from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(_NODES_RULE)
    if not text.isprintable() or " " in text or parts.path.count("@"):
        raise ValueError(_NODES_RULE)
    return text.rstrip("/")


def project(text: str) -> str:
    if not _PROJECT.fullmatch(text):
        raise ValueError("must be the name of a Scrapy project: at most 100 letters, digits, '_', '.' and '-'")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class ScrapydSettings:
    """Settings of Scrapyd."""

    scrapyd_urls: tuple[SecretValue, ...] = field(
        default=(),
        metadata=about(
            "Scrapyd nodes that run crawls, separated by commas: `http://host:6800`, with `user:password@` "
            "where they ask for it. The least loaded gets the next crawl. Default: none, and no crawl is accepted.",
            "FOLIOT_SCRAPYD_URL",
            "SCRAPYD_URL",
            read=scrapyd_urls,
            secret=True,
        ),
    )
    scrapyd_project: str = field(
        default="DiscoveryBot",
        metadata=about(
            "The Scrapy project of crawls that do not name one.",
            "FOLIOT_SCRAPYD_PROJECT",
            "SCRAPYD_PROJECT",
            read=project,
        ),
    )
    crawl_cache_ttl: float = field(
        default=3600.0,
        metadata=about(
            "Seconds during which an identical request for a crawl returns the existing crawl; 0: never.",
            "FOLIOT_CRAWL_CACHE_TTL",
            "CRAWL_CACHE_TTL",
            read=reading.seconds(0, 365 * 24 * 3600),
        ),
    )
    crawl_poll_seconds: float = field(
        default=2.0,
        metadata=about(
            "Seconds between two polls of a crawl; up to five times as many while it logs nothing new.",
            "FOLIOT_CRAWL_POLL_SECONDS",
            read=reading.seconds(0.05, 60),
        ),
    )
    crawl_lost_seconds: float = field(
        default=90.0,
        metadata=about(
            "A crawl counts as lost, and is tried again, when its Scrapyd has not answered for this many seconds, or "
            "no longer knows it while its log does not grow.",
            "FOLIOT_CRAWL_LOST_SECONDS",
            read=reading.seconds(1, 24 * 3600),
        ),
    )


def bucket(text: str) -> str:
    """`s3://BUCKET`, with a prefix or without."""
    parts = urlsplit(text)
    if parts.scheme != "s3" or not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("must be s3://BUCKET or s3://BUCKET/PREFIX, without credentials")
    return text


def endpoint(text: str) -> str:
    """`https://host` or `http://host:port`."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise ValueError("must begin with http:// or https:// and name a host, without credentials")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class ArticleSettings:
    """Settings of article fetching."""

    article_cache_ttl: float = field(
        default=86_400.0,
        metadata=about(
            "How old, in seconds, a page may be to be reused instead of fetched, unless the job says otherwise.",
            "FOLIOT_ARTICLE_CACHE_TTL",
            "ARTICLE_CACHE_TTL",
            read=reading.seconds(0, 365 * 24 * 3600),
        ),
    )
    scrape_timeout: float = field(
        default=30.0,
        metadata=about(
            "Time limit of one fetch of an article in seconds, including redirects.",
            "FOLIOT_SCRAPE_TIMEOUT",
            "SCRAPE_TIMEOUT",
            read=reading.seconds(1, 600),
        ),
    )
    scrape_attempts: int = field(
        default=3,
        metadata=about(
            "How often an article is attempted before it fails.",
            "FOLIOT_MAX_RETRY_ATTEMPTS",
            "MAX_RETRY_ATTEMPTS",
            read=reading.whole(1, 100),
        ),
    )
    scrape_concurrency: int = field(
        default=32,
        metadata=about(
            "How many articles one process fetches at once.", "FOLIOT_SCRAPE_CONCURRENCY", read=reading.whole(1, 1000)
        ),
    )
    host_rate: float = field(
        default=10.0,
        metadata=about(
            "Requests a second to one host, at most, by all processes and tenants together; 0: no limit. "
            "A crawl delay in its robots.txt, and a 429 or 503, make it slower.",
            "FOLIOT_HOST_RATE",
            read=reading.seconds(0, 10_000),
        ),
    )
    host_concurrency: int = field(
        default=8,
        metadata=about(
            "Concurrent requests to one host, at most, by all processes and tenants together.",
            "FOLIOT_HOST_CONCURRENCY",
            read=reading.whole(1, 1000),
        ),
    )
    pages_quota: int = field(
        default=5_000_000_000,
        metadata=about(
            "Compressed bytes of stored pages that one tenant may have; the oldest go when there are more.",
            "FOLIOT_PAGES_QUOTA",
            read=reading.whole(1_000_000, 10**15),
        ),
    )
    pages_url: str | None = field(
        default=None,
        metadata=about(
            "Where stored pages of more than 256 KiB (compressed) are kept: s3://BUCKET/PREFIX, which needs "
            "foliot[s3]. "
            "Unset: files below FOLIOT_HOME/pages.",
            "FOLIOT_PAGES_URL",
            read=bucket,
        ),
    )
    pages_endpoint: str | None = field(
        default=None,
        metadata=about(
            "Address of an S3-compatible service, where it is not Amazon's.",
            "FOLIOT_PAGES_ENDPOINT",
            read=endpoint,
        ),
    )


_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variables(text: str) -> tuple[str, ...]:
    """Names of environment variables that are not settings of Foliot."""
    names = reading.entries(text)
    for name in names:
        if not _VARIABLE.fullmatch(name) or name.upper().startswith("FOLIOT_"):
            raise ValueError(
                "must be a comma-separated list of environment variables, none of which begins with FOLIOT_"
            )
    return tuple(dict.fromkeys(names))


def modules(text: str) -> tuple[str, ...]:
    """Names of modules without duplicates, in the order given."""
    names = reading.entries(text)
    for name in names:
        if not _MODULE.fullmatch(name) or name.endswith(".py"):
            raise ValueError("must be a comma-separated list of Python modules, such as shop.tasks (no file names)")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskSettings(CommandSettings):
    """Settings of tasks."""

    tasks: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Python modules with tasks (`@task`), separated by commas; the directory in which Foliot is started is "
            "searched too. Set it for every process: servers check parameters with it. Default: only the built-in "
            "tasks, and those of installed packages (entry points of the group `foliot.tasks`).",
            "FOLIOT_TASKS",
            read=modules,
        ),
    )
    processes: int | None = field(
        default=None,
        metadata=about(
            "How many processes run tasks with `cpu=True`. Default: the number of processors.",
            "FOLIOT_PROCESSES",
            read=reading.whole(1, 1000),
        ),
    )
    process_calls: int = field(
        default=50,
        metadata=about(
            "How many tasks such a process runs before it is replaced.",
            "FOLIOT_PROCESS_CALLS",
            read=reading.whole(1, 1_000_000),
        ),
    )

    task_env: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Environment variables that such a process receives, separated by commas, besides "
            "`PATH`, `HOME`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`, `TMPDIR` and what Python needs; a "
            "variable whose name begins with `FOLIOT_` cannot be given.",
            "FOLIOT_TASK_ENV",
            read=variables,
        ),
    )

    @property
    def process_count(self) -> int:
        return self.processes or os.cpu_count() or 1


def file(text: str) -> Path:
    """An absolute path, independent of later changes of the working directory."""
    if "\0" in text:
        raise ValueError("must be the path of a file, without null bytes")
    return Path(text).expanduser().absolute()


@dataclass(frozen=True, kw_only=True, repr=False)
class PipelineFileSettings:
    """Settings of the pipelines file."""

    pipelines: Path | None = field(
        default=None,
        metadata=about(
            "The YAML file that defines pipelines; edits take effect within 2 s. Read by `foliot up` and "
            "`foliot scheduler`. Default: none.",
            "FOLIOT_PIPELINES",
            "PIPELINES_CONFIG",
            read=file,
        ),
    )
    pipelines_tenant: str = field(
        default=KEEPER,
        metadata=about("The tenant whose pipelines they are.", "FOLIOT_PIPELINES_TENANT", read=reading.tenant),
    )
    scheduler_mode: str = field(
        default="scheduler",
        metadata=about(
            "`scheduler`, or `legacy`: `foliot up` and `foliot scheduler` run every pipeline of the file once, one "
            "after the other, and exit.",
            "SCHEDULER_MODE",
            read=reading.choice("scheduler", "legacy"),
        ),
    )


def directories(text: str) -> tuple[Path, ...]:
    """Without duplicates, in the order given."""
    return tuple(dict.fromkeys(reading.directory(name) for name in reading.entries(text)))


@dataclass(frozen=True, kw_only=True, repr=False)
class TransformSettings:
    """Settings of pipeline steps."""

    transforms: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Python modules with transforms (`foliot.Transform`), separated by commas; the directory in which Foliot "
            "is started is searched too. Set it for every process: servers check pipelines with it. Default: only the "
            "built-in transforms, and those of installed packages (entry points of the group `foliot.transforms`).",
            "FOLIOT_TRANSFORMS",
            read=modules,
        ),
    )
    sink_dirs: tuple[Path, ...] = field(
        default=(),
        metadata=about(
            "Directories in which the file sinks of pipelines may write besides `FOLIOT_HOME/out`, separated by "
            "commas. Default: none.",
            "FOLIOT_SINK_DIRS",
            read=directories,
        ),
    )


SCHEMES = ("mongodb", "mongodb+srv")
_MONGO_RULE = (
    "must be the URL of a MongoDB, such as mongodb://user:password@host:27017/?authSource=admin or mongodb+srv://…, "
    "with / : @ # and ? in a password percent-encoded"
)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


def mongo_uri(text: str) -> SecretValue:
    """Checks only the outline of the URL; the driver parses it fully."""
    scheme, _, rest = text.partition("://")
    user, at, hosts = rest.partition("/")[0].rpartition("@")
    named = all(host.strip(":") for host in hosts.split(","))
    signed = not at or (user.partition(":")[0] and user.count(":") <= 1 and "@" not in user)
    if scheme not in SCHEMES or not text.isprintable() or " " in text or not named or not signed:
        raise ValueError(_MONGO_RULE)
    if find_spec("pymongo") is None:
        raise ValueError("needs PyMongo, which is not installed: pip install 'foliot[mongo]'")
    return SecretValue(text)


def database_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be the name of a database: letters, digits, - and _, at most 63 of them")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class SinkSettings:
    """Settings of sinks."""

    mongo_uri: SecretValue | None = field(
        default=None,
        metadata=about(
            "A MongoDB to which articles, jobs and the items of crawls are copied. Default: none.",
            "FOLIOT_MONGO_URI",
            "MONGO_URI",
            "MONGO_URL",
            "MONGODB_URL",
            read=mongo_uri,
            secret=True,
        ),
    )
    mongo_db_name: str = field(
        default="job_scheduler",
        metadata=about(
            "The database there, with the collections `articles`, `jobs` and `items`.",
            "FOLIOT_MONGO_DB_NAME",
            "MONGO_DB_NAME",
            read=database_name,
        ),
    )
