"""What is shipped for deployment holds together: files name each other, our commands, our settings and our metrics."""

from __future__ import annotations

import json
import re
import secrets
import tomllib
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from honcho.environ import parse_procfile
from typer.main import get_command

import foliot
from foliot.cli.app import app
from foliot.domain.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.domain.run import RunState
from foliot.domain.schedule import Status
from foliot.doors.rest.exposing import expose
from foliot.egress import addresses
from foliot.pipelines.book.reading import Reader
from foliot.pipelines.loading import load
from foliot.settings import Settings
from foliot.settings.rpc import USUAL_PORT
from foliot.usecases.health import Numbers

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?:(:[?-])([^}]*))?\}")
PARTS = ("api", "scheduler", "worker")
OPTIONAL = ("grpc", "discord")
"""Parts that start only where somebody asks for them."""
NOW = datetime(2027, 1, 4, tzinfo=UTC)


@cache
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yml").read_text())


SERVICES: dict[str, Any] = compose()["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("foliot:")}


def example() -> dict[str, str]:
    """What .env.example names, with what it gives; a choice that is only shown counts too."""
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"#?([A-Z_]+)=(.*)", line))}


def filled(text: str) -> str:
    """A value of the compose file as it is with a filled .env."""
    strong = {name: secrets.token_urlsafe(48) for name in example()}
    return VARIABLE.sub(lambda found: found[3] if found[2] == ":-" else strong[found[1]], text)


# --- the image --------------------------------------------------------------------------------------------------------

DOCKERFILE = (ROOT / "Dockerfile").read_text()
SCRAPYD = (DEPLOY / "scrapyd" / "Dockerfile").read_text()
FINAL = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]


def test_the_image_runs_foliot_as_a_numbered_user_without_tools_to_build_or_fetch() -> None:
    assert int(re.findall(r"(?m)^USER (\d+)$", FINAL)[-1]) > 0
    assert 'ENTRYPOINT ["foliot"]' in FINAL
    assert re.search(r"(?m)^HEALTHCHECK .*/health", FINAL)
    assert not re.search(r"\b(curl|wget|gcc|build-essential|apt-get|pip)\b", FINAL)


@pytest.mark.parametrize("text", [DOCKERFILE, SCRAPYD], ids=["foliot", "scrapyd"])
def test_an_image_is_made_of_pinned_things_and_runs_as_a_numbered_user(text: str) -> None:
    assert [tag for tag in re.findall(r"(?m)^FROM (\S+)", text) if not re.search(r":\d", tag)] == []
    assert "--constraint constraints.txt" in text
    assert int(re.findall(r"(?m)^USER (\d+)$", text)[-1]) > 0


def copied(text: str) -> set[str]:
    """What an image copies from here; the last word of a line is where to."""
    return {name for line in re.findall(r"(?m)^COPY (?!--from)(.+)$", text) for name in line.split()[:-1]}


def test_what_an_image_copies_is_there_and_is_not_ignored() -> None:
    let_in = re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text())

    assert [name for name in let_in if not (ROOT / name).exists()] == []
    assert copied(DOCKERFILE) == set(let_in)
    # Spiders have no use for a dashboard.
    assert copied(SCRAPYD) == set(let_in) - {"ui"}
    assert "hatch_build.py" in copied(SCRAPYD), "pyproject.toml names it"


@pytest.mark.parametrize("text", [DOCKERFILE, SCRAPYD], ids=["foliot", "scrapyd"])
def test_extras_of_an_image_exist(text: str) -> None:
    [named] = re.findall(r"'\.\[([a-z,]+)\]'", text)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert set(named.split(",")) <= set(extras)


# --- compose ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_checked_or_says_why_not(name: str) -> None:
    check = SERVICES[name]["healthcheck"]

    assert check.get("test") or (check == {"disable": True} and SERVICES[name]["x-no-healthcheck"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_and_locked_down(name: str) -> None:
    service = SERVICES[name]

    assert re.search(r":v?\d", service["image"])
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
    assert {name for name, service in SERVICES.items() if asked & service.get("environment", {}).keys()} == {"discord"}
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


@pytest.mark.parametrize("name", ["api", "grpc"])
def test_a_health_check_asks_the_port_that_is_published(name: str) -> None:
    [published] = SERVICES[name]["ports"]
    *_, command = SERVICES[name]["healthcheck"]["test"]

    compile(command, name, "exec")
    assert str(Settings.load({}).port if name == "api" else USUAL_PORT) in command
    assert published.endswith(f":{USUAL_PORT if name == 'grpc' else Settings.load({}).port}")


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


# --- Prometheus and Grafana -------------------------------------------------------------------------------------------

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
        Numbers({}, {}, queues, *histograms, 0, 0, datetime(2027, 1, 1, tzinfo=UTC)), {"requests": 1}
    ).decode()
    found: dict[str, set[str]] = {"up": {"job"}}
    for name, labels in re.findall(r"(?m)^(\w+)(?:\{(.*)\})? \S+$", text):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


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
    assert asked["status"] <= {status.value for status in Status}
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


# --- Kubernetes -------------------------------------------------------------------------------------------------------

KUSTOMIZE = DEPLOY / "kustomize"
NAME = "app.kubernetes.io/name"


def kustomization(directory: str) -> Any:
    return yaml.safe_load((KUSTOMIZE / directory / "kustomization.yaml").read_text())


def resources(directory: str) -> list[Any]:
    return [
        document
        for name in kustomization(directory)["resources"]
        for document in yaml.safe_load_all((KUSTOMIZE / directory / name).read_text())
    ]


DIRECTORIES = ("base", "migrate", "pipeline", *OPTIONAL)
EVERYTHING = [each for directory in DIRECTORIES for each in resources(directory)]


def of(kind: str) -> list[Any]:
    return [each for each in EVERYTHING if each["kind"] == kind]


def pods() -> list[Any]:
    """The pods of everything that makes some."""
    crons = [each["spec"]["jobTemplate"]["spec"]["template"] for each in of("CronJob")]
    return crons + [each["spec"]["template"] for each in of("Deployment") + of("Job")]


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_file_of_a_kustomization_is_listed_and_its_image_is_this_version(directory: str) -> None:
    listed = kustomization(directory)
    files = {path.name for path in (KUSTOMIZE / directory).glob("*.yaml")}

    assert files == {*listed["resources"], "kustomization.yaml"}
    assert listed["images"] == [{"name": "foliot", "newName": "foliot", "newTag": foliot.__version__}]
    assert {service["image"] for service in OURS.values()} == {f"foliot:{foliot.__version__}"}


def test_the_parts_are_deployed_and_each_has_a_budget() -> None:
    deployed = [f"foliot-{part}" for part in (*PARTS, *OPTIONAL)]
    several = [each["metadata"]["name"] for each in of("Deployment") if each["spec"]["replicas"] > 1]

    assert [each["metadata"]["name"] for each in of("Deployment")] == deployed
    assert [each["metadata"]["name"] for each in of("PodDisruptionBudget")] == several == deployed[:-1]


def test_every_selector_finds_pods() -> None:
    labels = [pod["metadata"]["labels"] for pod in pods()]
    selectors = [each["spec"]["selector"] for each in of("Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of("Deployment") + of("PodDisruptionBudget")]
    selectors += [each["spec"]["podSelector"]["matchLabels"] for each in of("NetworkPolicy")]

    assert [wanted for wanted in selectors if not any(wanted.items() <= found.items() for found in labels)] == []
    for each in of("Deployment"):
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: str(pod["spec"]["containers"][0]["name"]))
def test_a_pod_is_locked_down_and_runs_a_command_that_exists(pod: Any) -> None:
    spec = pod["spec"]
    [container] = spec["containers"]

    assert container["image"] == "foliot"
    assert container["args"][0] in COMMANDS
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert str(spec["securityContext"]["runAsUser"]) in FINAL
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False, "it would set FOLIOT_API_PORT, which is no setting of Foliot"
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}


SECRET_FILES = {"foliot": "secret.example.env", "foliot-tokens": "tokens.example.env"}


def keys(file: str) -> dict[str, str]:
    """What an example of a Secret names, with what it gives."""
    return dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", (KUSTOMIZE / file).read_text()))


def test_only_what_is_asked_by_people_and_programs_has_what_checks_their_tokens() -> None:
    tokens = {"FOLIOT_JWT_SECRET", "FOLIOT_METRICS_TOKEN"}
    composed = {name for name, service in SERVICES.items() if tokens & service.get("environment", {}).keys()}
    named = {
        pod["spec"]["containers"][0]["name"]
        for pod in pods()
        for source in pod["spec"]["containers"][0]["envFrom"]
        if source.get("secretRef", {}).get("name") == "foliot-tokens"
    }

    assert composed - {"prometheus"} == named == {"api", "grpc"}
    assert set(keys("tokens.example.env")) == tokens
    assert not tokens & set(keys("secret.example.env"))


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: str(pod["spec"]["containers"][0]["name"]))
def test_a_pod_gets_settings_that_are_accepted(pod: Any, tmp_path: Path) -> None:
    [container] = pod["spec"]["containers"]
    generated = {
        each["name"]: each["literals"]
        for directory in ("base", *OPTIONAL)
        for each in kustomization(directory)["configMapGenerator"]
    }
    secret = {name: keys(file) for name, file in SECRET_FILES.items()}
    environ: dict[str, str] = {}
    for source in container["envFrom"]:
        if "configMapRef" in source:
            environ |= dict(line.split("=", 1) for line in generated[source["configMapRef"]["name"]])
        else:
            given = secret[source["secretRef"]["name"]]
            environ |= {key: text.replace("…", "x8Gq2") or secrets.token_urlsafe(48) for key, text in given.items()}
    environ |= {entry["name"]: entry.get("value", "from-a-secret") for entry in container.get("env", [])}
    assert "DISCORD_TOKEN" not in "".join(line for lines in generated.values() for line in lines)

    assert environ["FOLIOT_HOME"].startswith("/tmp/")
    assert not Settings.load(environ | {"FOLIOT_HOME": str(tmp_path)}).local


@pytest.mark.parametrize(("name", "port"), [("foliot-api", 8000), ("foliot-grpc", USUAL_PORT)])
def test_a_service_leads_to_a_port_that_is_open_and_let_in(name: str, port: int) -> None:
    [service] = [each for each in of("Service") if each["metadata"]["name"] == name]
    [part] = [each for each in of("Deployment") if each["metadata"]["name"] == name]
    [container] = part["spec"]["template"]["spec"]["containers"]
    [policy] = [each for each in of("NetworkPolicy") if each["metadata"]["name"] == name]
    target = service["spec"]["ports"][0]["targetPort"]

    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {target: port}
    assert [each["port"] for each in policy["spec"]["ingress"][0]["ports"]] == [target]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe].get("httpGet") or container[probe]["grpc"]
        assert asked["port"] in (target, port)


def test_discord_is_reached_at_public_addresses_by_its_port_alone() -> None:
    policies = {each["metadata"]["name"]: each["spec"].get("egress") for each in of("NetworkPolicy")}

    assert policies["foliot-discord"][0]["to"] == policies["foliot-worker"][0]["to"]
    assert policies["foliot-discord"][0]["ports"] == [{"protocol": "TCP", "port": 443}]


def test_the_second_wall_stands_where_the_first_one_does() -> None:
    [policy] = [each for each in of("NetworkPolicy") if each["metadata"]["name"] == "foliot-worker"]
    [rule] = policy["spec"]["egress"]
    public = {
        place["ipBlock"]["cidr"]: {ip_network(block) for block in place["ipBlock"]["except"]} for place in rule["to"]
    }

    assert public == {"0.0.0.0/0": set(addresses._SPECIAL_V4), str(addresses._GLOBAL_V6): set(addresses._SPECIAL_V6)}
    assert {port["port"] for port in rule["ports"]} == {80, 443, 8080, 8443}


def test_every_pod_of_ours_is_behind_the_wall() -> None:
    [wall] = [each for each in of("NetworkPolicy") if each["metadata"]["name"] == "foliot"]

    assert wall["spec"]["podSelector"]["matchLabels"] == {NAME: "foliot"}
    assert set(wall["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in wall["spec"]
    assert [pod for pod in pods() if pod["metadata"]["labels"][NAME] != "foliot"] == []


def test_a_pipeline_of_a_cron_job_is_in_its_file_and_reaches_what_workers_reach() -> None:
    [job] = [each for each in of("CronJob") if each["metadata"]["name"] == "foliot-pipeline"]
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    *_, path, name = container["args"]
    read = Reader(catalogue=load(()), zone="UTC").read(
        (KUSTOMIZE / "pipeline" / Path(path).name).read_bytes(), path, NOW
    )
    policies = {
        each["metadata"]["name"]: each["spec"]["egress"] for each in of("NetworkPolicy") if "egress" in each["spec"]
    }

    assert [one.name for one in read.pipelines if one.definition is not None] == [name]
    assert policies["foliot-pipeline"] == policies["foliot-worker"]


# --- without containers -----------------------------------------------------------------------------------------------


def test_the_procfile_starts_two_of_each_part_by_commands_that_exist() -> None:
    processes = parse_procfile((DEPLOY / "Procfile").read_text()).processes
    commands = [re.match(r"exec foliot (\w+)", line) for line in processes.values()]

    assert [found[1] for found in commands if found] == [part for part in PARTS for _ in range(2)]
    assert set(PARTS) <= COMMANDS
