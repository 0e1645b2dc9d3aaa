"""CronJobs of Kubernetes: manifests, or what `kubectl get cronjobs -o yaml` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foliot.features.imports.model.cron_values import joined_by_or
from foliot.features.imports.model.imported import (
    LONGEST_RUN,
    Imported,
    UnknownTerm,
    UnreadableSource,
    changes_clocks,
    checked_zone,
)
from foliot.features.pipelines.file.parse import FileLimits, UnreadableFile, compose

_HOW = "give manifests, or what kubectl get cronjobs --all-namespaces -o json prints"
_BREAK = re.compile(r"^---(?:\s.*)?$", re.MULTILINE)
_LIMITS = FileLimits(nodes=1_000_000, depth=64)
_MACROS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_ZONE = re.compile(r"(?:CRON_)?TZ=(?P<zone>\S+)\s+(?P<rest>.+)")
_OVERLAP = {"Allow": "allow_all", "Forbid": "skip", "Replace": "cancel_other"}
_LOST_POD = (
    "volumes", "initContainers", "serviceAccountName", "nodeSelector", "affinity", "tolerations", "imagePullSecrets",
    "securityContext", "hostNetwork",
)  # fmt: skip
_LOST_CONTAINER = ("envFrom", "volumeMounts", "resources", "securityContext", "ports")
BACKOFF_LIMIT = 6
"""Retries of a Job that names none."""
CLOCKS = (
    "at a clock change of {zone}, Kubernetes leaves out a time that is skipped, here it runs as the skipped hour ends; "
    "a time that comes twice runs twice there, here once, unless it runs every hour or more often"
)


def read_kubernetes(files: Sequence[tuple[str, str]], zone: str | None = None) -> Imported:
    """Every CronJob; `zone` is for those without `timeZone`, which otherwise are read in UTC."""
    imported = Imported("kubernetes")
    found = False
    for name, text in files:
        for manifest in _manifests(name, text):
            if manifest.get("kind") != "CronJob":
                continue
            found = True
            title = _title(manifest)
            try:
                _add(imported, title, manifest, zone)
            except UnknownTerm as unknown:
                imported.left_out(title, unknown)
            except (AttributeError, TypeError, KeyError, IndexError):
                imported.left_out(title, "it is no complete CronJob")
    if not found:
        raise UnreadableSource(f"SOURCE: has no CronJob; {_HOW}")
    return imported


def _manifests(name: str, text: str) -> Iterator[Mapping[str, Any]]:
    for value in _documents(name, text):
        items = value.get("items") if isinstance(value, dict) else None
        for one in items if isinstance(items, list) else [value]:
            if isinstance(one, dict):
                yield one


def _documents(name: str, text: str) -> Iterable[Any]:
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return [json.loads(text)]
        except ValueError as wrong:
            raise UnreadableSource(f"{name}: is not JSON ({wrong})") from None
    values = []
    for part in _BREAK.split(text):
        try:
            node = compose(part, name, _LIMITS)
        except UnreadableFile as broken:
            raise UnreadableSource(f"{broken.fault}; {_HOW}") from None
        if node is not None and node.faults:
            raise UnreadableSource(f"{node.faults[0]}; {_HOW}")
        if node is not None:
            values.append(node.plain())
    return values


def _title(manifest: Mapping[str, Any]) -> str:
    known = manifest.get("metadata") or {}
    space = known.get("namespace")
    return f"{space}/{known.get('name')}" if space and space != "default" else str(known.get("name"))


def _add(imported: Imported, title: str, manifest: Mapping[str, Any], zone: str | None) -> None:
    spec = manifest["spec"]
    named = spec.get("timeZone") or zone
    if named is None:
        imported.note("entries without timeZone are read in UTC: --timezone names the zone of your control plane")
    trigger = schedule_trigger(str(spec["schedule"]), checked_zone(str(named or "UTC")))
    job = spec["jobTemplate"]["spec"]
    name = imported.add(
        title,
        trigger,
        _action(imported, title, job["template"]["spec"], (manifest.get("metadata") or {}).get("namespace")),
        overlap=_OVERLAP.get(str(spec.get("concurrencyPolicy") or "Allow"), "allow_all"),
        catchup=_catchup(spec.get("startingDeadlineSeconds")),
        retry_policy={
            "strategy": "exponential",
            "max_retries": int(job.get("backoffLimit", BACKOFF_LIMIT)),
            "delay_seconds": 10,
            "max_delay_seconds": 360,
        },
        timeout_seconds=int(job.get("activeDeadlineSeconds") or LONGEST_RUN),
        **({"paused": True, "paused_reason": "was suspended in Kubernetes"} if spec.get("suspend") else {}),
    )
    for field in ("parallelism", "completions", "podFailurePolicy"):
        if job.get(field) not in {None, 1}:
            imported.note(f"{field}: one container runs for each run here", name)
    local = str(trigger["timezone"])
    if trigger["type"] == "cron" and changes_clocks(local):
        imported.note(CLOCKS.format(zone=local))


def _catchup(deadline: Any) -> dict[str, Any]:
    """Kubernetes starts the newest missed time within the deadline, and without one however late it is."""
    seconds = 86_400 if deadline is None else max(int(deadline), 1)
    return {"mode": "latest", "window_seconds": seconds, "grace_seconds": min(60, seconds)}


def _action(imported: Imported, title: str, pod: Mapping[str, Any], namespace: Any) -> dict[str, Any]:
    containers = pod["containers"]
    if len(containers) > 1:
        raise UnknownTerm(f"it has {len(containers)} containers: a run has one")
    (container,) = containers
    action: dict[str, Any] = {"kind": "container", "engine": "kubernetes", "image": str(container["image"])}
    if namespace:
        action["namespace"] = str(namespace)
    for name in ("command", "args"):
        if container.get(name):
            action[name] = [str(word) for word in container[name]]
    if container.get("workingDir"):
        action["cwd"] = str(container["workingDir"])
    if env := _environment(imported, title, container):
        action["env"] = env
    for owner, names in ((pod, _LOST_POD), (container, _LOST_CONTAINER)):
        if lost := [name for name in names if owner.get(name)]:
            imported.note(f"{', '.join(lost)} of the pod do not carry over", title)
    return action


def _environment(imported: Imported, title: str, container: Mapping[str, Any]) -> dict[str, str]:
    env = {}
    for variable in container.get("env") or ():
        if "valueFrom" in variable:
            rule = "comes from elsewhere (valueFrom): put it into a secret of Foliot"
            imported.note(f"env.{variable['name']} {rule}", title)
        else:
            env[str(variable["name"])] = str(variable.get("value") or "")
    return env


def schedule_trigger(text: str, zone: str) -> dict[str, Any]:
    """Five fields, a macro or `@every`; day and weekday are joined by OR unless one of them is a star."""
    if found := _ZONE.fullmatch(text.strip()):
        zone, text = checked_zone(found["zone"]), found["rest"]
    text = text.strip()
    if text.startswith("@every "):
        return {"type": "interval", "interval_seconds": _duration(text), "timezone": zone}
    fields = _MACROS.get(text, text).split()
    if len(fields) != 5:
        raise UnknownTerm(f"the schedule {text!r} cannot be read")
    return {"type": "cron", "cron_expr": joined_by_or(fields), "timezone": zone}


def _duration(text: str) -> int:
    found = _DURATION.fullmatch(text.removeprefix("@every ").strip())
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    total = hours * 3600 + minutes * 60 + seconds
    if total < 1:
        raise UnknownTerm(f"{text!r}: an interval is a whole number of seconds, at least 1")
    return total
