"""CronJobs of Kubernetes: what a manifest becomes, and that it fires when the controller would create its Job."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from foliot.features.imports.model.imported import UnknownTerm, UnreadableSource
from foliot.features.imports.model.kubernetes import read_kubernetes, schedule_trigger
from tests.features.imports.oracles import (
    EACH,
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    local,
    same,
    trigger_of,
)

MANIFESTS = """\
apiVersion: v1
kind: Service
metadata:
  name: shop
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: export
  namespace: shop
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Stockholm
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 600
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 1800
      template:
        spec:
          restartPolicy: Never
          serviceAccountName: exporter
          containers:
            - name: export
              image: shop/export:1.4
              command: ["python", "-m", "export"]
              args: ["--all"]
              env:
                - name: LEVEL
                  value: "3"
                - name: TOKEN
                  valueFrom:
                    secretKeyRef:
                      name: shop
                      key: token
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: pair
spec:
  schedule: "@hourly"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: a
              image: a
            - name: b
              image: b
"""


def test_a_cron_job_becomes_a_container() -> None:
    imported = read_kubernetes([("jobs.yaml", MANIFESTS)])
    (export,) = imported.documents

    assert export["name"] == "shop/export"
    assert (export["cron_expr"], export["timezone"]) == ("30 2 * * *", "Europe/Stockholm")
    assert export["action"] == {
        "kind": "container",
        "engine": "kubernetes",
        "image": "shop/export:1.4",
        "namespace": "shop",
        "command": ["python", "-m", "export"],
        "args": ["--all"],
        "env": {"LEVEL": "3"},
    }
    assert (export["overlap"], export["paused"], export["timeout_seconds"]) == ("skip", True, 1800)
    assert (export["retry_policy"]["max_retries"], export["catchup"]["window_seconds"]) == (2, 600)


def test_what_does_not_carry_over_has_a_note() -> None:
    notes = {(note.entry, note.text) for note in read_kubernetes([("jobs.yaml", MANIFESTS)]).notes}

    assert ("pair", "left out: it has 2 containers: a run has one") in notes
    assert any("env.TOKEN comes from elsewhere" in text for _, text in notes)
    assert any("serviceAccountName" in text for _, text in notes)


def test_what_kubectl_prints_is_read() -> None:
    spec = {"containers": [{"image": "a"}]}
    job = {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": spec}}}}
    listed = {"kind": "List", "items": [{"kind": "CronJob", "metadata": {"name": "x"}, "spec": job}]}

    (document,) = read_kubernetes([("-", json.dumps(listed))]).documents
    assert (document["name"], document["cron_expr"], document["timezone"]) == ("x", "0 0 * * *", "UTC")


def test_a_source_without_cron_jobs_is_refused() -> None:
    with pytest.raises(UnreadableSource, match="kubectl"):
        read_kubernetes([("jobs.yaml", "kind: Service\n")])


@pytest.mark.parametrize("text", ["* * * *", "61 * * * *", "0 0 * * 7", "@reboot", "@every 500ms"])
def test_what_the_controller_refuses_is_left_out(text: str) -> None:
    with pytest.raises(UnknownTerm):
        schedule_trigger(text, "UTC")


def named(field: str, low: int, high: int) -> set[int]:
    """The rule of robfig/cron, which the controller uses, written down apart."""
    found: set[int] = set()
    for part in field.split(","):
        base, _, step = part.partition("/")
        first, _, last = base.partition("-")
        begin, end = (low, high) if base == "*" else (int(first), int(last or (high if step else first)))
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def created(fields: list[str], start: datetime, count: int) -> list[datetime]:
    """Day by day: day and weekday are joined by OR unless one of them is `*`."""
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    minutes, hours, days, months, weekdays = (
        named(field, *limits) for field, limits in zip(fields, ranges, strict=True)
    )
    found: list[datetime] = []
    midnight = datetime(local(start).year, local(start).month, local(start).day)
    while len(found) < count:
        day, weekday = midnight.day in days, midnight.isoweekday() % 7 in weekdays
        dated = day and weekday if "*" in {fields[2], fields[4]} else day or weekday
        if dated and midnight.month in months:
            walls = (midnight.replace(hour=hour, minute=minute) for hour in sorted(hours) for minute in sorted(minutes))
            at = [wall.replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC) for wall in walls]
            found += [each for each in at if each > start]
        midnight += timedelta(days=1)
    return found[:count]


def test_generated_schedules_fire_when_the_controller_would_create_a_job() -> None:
    random_ = random.Random(24)
    for _ in range(ENTRIES):
        fields = generated_fields(random_)
        trigger = trigger_of(schedule_trigger(" ".join(fields), ZONE))
        for start in STARTS:
            assert same(instants(trigger, start), created(fields, start, EACH)), fields
