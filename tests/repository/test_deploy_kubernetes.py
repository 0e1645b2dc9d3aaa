"""The Kubernetes manifests: what they grant, mount and probe."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

import foliot
from foliot.cli.root import app
from foliot.config.interfaces import USUAL_PORT
from foliot.config.settings import Settings
from foliot.features.pipelines.file.read import PipelineFileReader
from foliot.features.pipelines.wiring import load
from foliot.net import addresses
from tests.repository.deploy_files import KUSTOMIZE, ROOT, compose, kustomization, resources

COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]

PARTS = ("api", "scheduler", "worker")

OPTIONAL = ("grpc", "discord")
"""Parts that start only where somebody asks for them."""

NOW = datetime(2027, 1, 4, tzinfo=UTC)

SERVICES: dict[str, Any] = compose()["services"]

OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("foliot:")}

DOCKERFILE = (ROOT / "Dockerfile").read_text()

FINAL = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]

NAME = "app.kubernetes.io/name"

DIRECTORIES = ("base", "migrate", "pipeline", *OPTIONAL)

EVERYTHING = [each for directory in DIRECTORIES for each in resources(directory)]


def of(kind: str) -> list[Any]:
    return [each for each in EVERYTHING if each["kind"] == kind]


def pods() -> list[Any]:
    """The pods of everything that makes some."""
    crons = [each["spec"]["jobTemplate"]["spec"]["template"] for each in of("CronJob")]
    return crons + [each["spec"]["template"] for each in of("Deployment") + of("Job")]


# --- Kubernetes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_file_of_a_kustomization_is_listed_and_its_image_is_this_version(directory: str) -> None:
    listed = kustomization(directory)
    files = {path.name for path in (KUSTOMIZE / directory).glob("*.yaml")}

    assert files == {*listed["resources"], "kustomization.yaml"}
    assert listed["images"] == [{"name": "foliot", "newName": "foliot", "newTag": foliot.__version__}]
    assert {service["image"] for service in OURS.values()} == {f"foliot:{foliot.__version__}"}


def built(directory: str) -> list[Any]:
    """What `kubectl kustomize` makes of a directory; without it, what the few rules used here make of it."""
    if (kubectl := shutil.which("kubectl")) is not None:
        done = subprocess.run([kubectl, "kustomize", KUSTOMIZE / directory], capture_output=True, text=True, check=True)
        return list(yaml.safe_load_all(done.stdout))
    listed, made = kustomization(directory), resources(directory)
    assert set(listed) <= {"apiVersion", "kind", "namespace", "labels", "resources", "configMapGenerator", "images"}
    for each in listed.get("configMapGenerator", ()):
        data = dict(line.split("=", 1) for line in each.get("literals", ()))
        data |= {name: (KUSTOMIZE / directory / name).read_text() for name in each.get("files", ())}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{each['name']}-x"}, "data": data})
    text = json.dumps(made)
    for each in listed.get("configMapGenerator", ()):
        for key in ("configMapRef", "configMap"):
            text = text.replace(f'"{key}": {{"name": "{each["name"]}"}}', f'"{key}": {{"name": "{each["name"]}-x"}}')
    for image in listed["images"]:
        text = text.replace(f'"image": "{image["name"]}"', f'"image": "{image["newName"]}:{image["newTag"]}"')
    found: list[Any] = json.loads(text)
    for each in found:
        each["metadata"]["namespace"] = listed["namespace"]
    return found


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_kustomization_builds_to_objects_that_find_each_other(directory: str) -> None:
    made = built(directory)
    text = json.dumps(made)

    assert {each["metadata"]["namespace"] for each in made} == {"foliot"}
    assert set(re.findall(r'"image": "([^"]+)"', text)) <= {f"foliot:{foliot.__version__}"}
    named = {each["metadata"]["name"] for each in made if each["kind"] == "ConfigMap"}
    assert set(re.findall(r'"configMap(?:Ref)?": \{"name": "([^"]+)"', text)) == named
    assert len({(each["kind"], each["metadata"]["name"]) for each in made}) == len(made)


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

    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    [below] = [place for place in mounts if Path(environ["FOLIOT_HOME"]).is_relative_to(place)]
    lives = "restartPolicy" not in pod["spec"]
    assert volumes[mounts[below]]["emptyDir"].get("medium") != "Memory" or not lives, "files in memory are no files"
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


PROBED = [
    (pod["spec"]["containers"][0]["name"], probe, found)
    for pod in pods()
    for probe in ("startupProbe", "readinessProbe", "livenessProbe")
    if (found := pod["spec"]["containers"][0].get(probe)) or "restartPolicy" not in pod["spec"]
]


@pytest.mark.parametrize(("name", "probe", "found"), PROBED, ids=lambda value: value if isinstance(value, str) else "")
def test_whatever_stays_is_probed_without_starting_a_python_or_asking_other_servers(
    name: str, probe: str, found: dict[str, Any]
) -> None:
    assert found, f"{name} has no {probe}"
    if "exec" in found:
        program, word, *_ = found["exec"]["command"]
        assert (program, word) == ("foliot-health", "ready" if probe == "readinessProbe" else "live")
    elif "httpGet" in found:
        assert found["httpGet"]["path"] == "/health"
    else:
        assert found["grpc"] == {"port": USUAL_PORT}


def test_servers_and_services_that_settings_can_name_are_let_through() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in of("NetworkPolicy")}
    ports = {
        name: {port["port"] for port in policies[name]["egress"][-1]["ports"]} for name in ("foliot", "foliot-services")
    }

    assert ports["foliot"] == {3306, 5432, 5671, 5672, 6379, 27017}
    assert ports["foliot-services"] == {6800, 50051}
    [chosen] = policies["foliot-services"]["podSelector"]["matchExpressions"]
    assert chosen["values"] == ["api", "worker"]


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
    read = PipelineFileReader(catalogue=load(()), zone="UTC").read(
        (KUSTOMIZE / "pipeline" / Path(path).name).read_bytes(), path, NOW
    )
    policies = {
        each["metadata"]["name"]: each["spec"]["egress"] for each in of("NetworkPolicy") if "egress" in each["spec"]
    }

    assert [one.name for one in read.pipelines if one.definition is not None] == [name]
    assert policies["foliot-pipeline"] == policies["foliot-worker"]
