"""How a request becomes a schedule, and what is refused on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.core.errors import Invalid, InvalidMany
from foliot.core.time.trigger import Cron, FixedInterval, OneOff, TriggerType
from foliot.engine.model.schedule import CatchupMode, Overlap, Schedule, ScheduleStatus
from foliot.engine.model.trigger_document import TriggerContext
from foliot.features.schedules.model.document import ScheduleDraft, document, merge, read_draft

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
WEBHOOK = {"kind": "webhook", "url": "https://example.com/hook"}
HOURLY = {"name": "Hourly", "type": "cron", "cron_expr": "0 * * * *", "action": WEBHOOK}
EVERY_MINUTE = {"name": "Often", "type": "interval", "interval_seconds": 60, "action": WEBHOOK}
STANDING = TriggerContext("sch_1", NOON, "UTC")


def check(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    if kind != "webhook":
        raise Invalid("kind", "is not an action", got=kind)
    if not isinstance(config.get("url"), str):
        raise Invalid("url", "is required")
    return dict(config)


def read(raw: object, standing: TriggerContext = STANDING) -> ScheduleDraft:
    return read_draft(raw, check, standing)


def refused(raw: object, standing: TriggerContext = STANDING) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        read(raw, standing)
    errors = caught.value.errors if isinstance(caught.value, InvalidMany) else [caught.value]
    return [(error.field, error.message) for error in errors]


def schedule(draft: ScheduleDraft) -> Schedule:
    return Schedule(
        id="sch_1",
        tenant_id="default",
        user_id="me",
        name=draft.name,
        description=draft.description,
        tags=draft.tags,
        spec=draft.spec,
        action=draft.action,
        status=ScheduleStatus.ACTIVE,
        version=1,
        next_at=None,
        last_run_at=None,
        fired=0,
        paused_reason="",
        fault=None,
        created_at=NOON,
        updated_at=NOON,
    )


def test_the_contracts_example_is_read_whole() -> None:
    draft = read(
        {
            "name": "Daily Task",
            "description": "",
            "tags": ["prices"],
            "type": "cron",
            "cron_expr": "0 2 * * *",
            "timezone": "Europe/Stockholm",
            "action": {**WEBHOOK, "method": "POST", "headers": {}, "body": {}},
            "retry_policy": {"strategy": "exponential", "max_retries": 3, "delay_seconds": 10, "jitter": 0.1},
            "overlap": "buffer_one",
            "catchup": {"mode": "all", "window_seconds": 3600, "max_runs": 10, "grace_seconds": 60},
            "queue": "scraping",
            "priority": 2,
            "timeout_seconds": 300,
            "jitter_seconds": 5,
            "start_at": None,
            "end_at": None,
            "max_runs": 7,
        }
    )

    assert draft.spec.trigger.rule == Cron("0 2 * * *", "Europe/Stockholm")
    assert (draft.spec.kind, draft.action["url"]) == ("webhook", "https://example.com/hook")
    assert (draft.spec.overlap, draft.spec.catchup.mode) == (Overlap.BUFFER_ONE, CatchupMode.ALL)
    assert (draft.spec.queue, draft.spec.priority, draft.spec.max_runs) == ("scraping", 2, 7)
    assert draft.tags == ("prices",)


def test_the_seeds_payload_is_a_webhook() -> None:
    raw = {"name": "n", "type": "cron", "cron_expr": "0 2 * * *", "payload": {"url": "https://x.org", "method": "POST"}}

    assert read(raw).spec.kind == "webhook"
    assert read(raw).action == {"url": "https://x.org", "method": "POST"}


def test_payload_and_action_together_are_refused() -> None:
    assert refused({**HOURLY, "payload": {"url": "https://x.org"}})[0][0] == "payload"


def test_every_mistake_is_named_at_once() -> None:
    wrong = {
        **HOURLY,
        "name": "",
        "tags": "prices",
        "queue": "no spaces",
        "priority": 11,
        "overlap": "perhaps",
        "retry_policy": {"max_retries": -1},
        "action": {"kind": "webhook"},
        "prioritty": 3,
    }

    fields = [field for field, _ in refused(wrong)]

    assert fields == [
        "name",
        "tags",
        "action.url",
        "retry_policy.max_retries",
        "overlap",
        "queue",
        "priority",
        "prioritty",
    ]


def test_an_unknown_field_comes_with_a_suggestion() -> None:
    ((field, message),) = refused({**HOURLY, "timezome": "UTC"})

    assert field == "timezome"
    assert message.startswith("is not known; did you mean 'timezone'? Known are action, after, alert, catchup, ")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": None}, "type"),
        ({"type": "sometimes"}, "type"),
        ({"cron_expr": None}, "cron_expr"),
        ({"cron_expr": 5}, "cron_expr"),
        ({"cron_expr": "0 0 30 2 *"}, "cron_expr"),
        ({"cron_expr": "61 * * * *"}, "cron_expr"),
        ({"interval_seconds": 60}, "interval_seconds"),
        ({"run_at": "2028-01-01T00:00:00Z"}, "run_at"),
        ({"timezone": "Europe/Stokholm"}, "timezone"),
        ({"timezone": 7}, "timezone"),
        ({"start_at": "2028-01-01T00:00:00"}, "start_at"),
        ({"start_at": "2028-01-02T00:00:00Z", "end_at": "2028-01-01T00:00:00Z"}, "end_at"),
        ({"end_at": "2020-01-01T00:00:00Z"}, "end_at"),
        ({"end_at": "2027-03-01T12:30:00Z"}, "end_at"),
        ({"name": "n" * 201}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": 5}, "name"),
        ({"description": "a\x00b"}, "description"),
        ({"tags": ["t"] * 21}, "tags"),
        ({"tags": ["t" * 65]}, "tags[0]"),
        ({"tags": ["good", ""]}, "tags[1]"),
        ({"tags": ["two\nlines"]}, "tags[0]"),
        ({"action": None}, "action"),
        ({"action": "webhook"}, "action"),
        ({"action": {"url": "https://x.org"}}, "action.kind"),
        ({"action": {"kind": "teleport"}}, "action.kind"),
        ({"action": {**WEBHOOK, "body": "x" * 262_145}}, "action"),
        ({"action": {**WEBHOOK, "body": {"a": "\x00"}}}, "action"),
        ({"max_runs": 0}, "max_runs"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"jitter_seconds": -1}, "jitter_seconds"),
        ({"priority": True}, "priority"),
        ({"queue": ""}, "queue"),
        ({"queue": "q" * 65}, "queue"),
        ({"catchup": {"grace_seconds": 90, "window_seconds": 60}}, "catchup.grace_seconds"),
    ],
)
def test_a_broken_rule_names_its_field(change: dict[str, Any], field: str) -> None:
    assert [name for name, _ in refused({**HOURLY, **change})] == [field]


@pytest.mark.parametrize("raw", [None, [], "text", 5])
def test_only_an_object_is_a_request(raw: object) -> None:
    assert refused(raw)[0][0] == "body"


def test_a_payload_deeper_than_64_is_refused() -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]

    assert refused({**HOURLY, "action": {**WEBHOOK, "body": deep}}) == [("action", "must be nested at most 64 deep")]


def test_the_default_queue_has_an_alias() -> None:
    assert read({**HOURLY, "queue": "default_queue"}).spec.queue == "default"


def test_the_zone_comes_from_the_settings_when_the_request_names_none() -> None:
    assert read(HOURLY, replace(STANDING, zone="Asia/Tokyo")).spec.trigger.rule.zone == "Asia/Tokyo"


def test_an_interval_counts_from_its_creation_and_first_fires_one_step_later() -> None:
    trigger = read(EVERY_MINUTE).spec.trigger

    assert trigger.rule == FixedInterval(60, NOON, "UTC")
    assert trigger.next_after(NOON) == NOON + timedelta(minutes=1)


def test_an_interval_with_a_start_fires_there_first() -> None:
    start = NOON + timedelta(days=1)

    trigger = read({**EVERY_MINUTE, "start_at": start.isoformat()}).spec.trigger

    assert trigger.next_after(NOON) == start


def test_an_interval_may_be_given_in_parts() -> None:
    raw = {**EVERY_MINUTE, "interval_seconds": None, "interval": {"hours": 4, "minutes": 1, "seconds": 2}}

    assert isinstance(rule := read(raw).spec.trigger.rule, FixedInterval)
    assert rule.seconds == 4 * 3600 + 62


@pytest.mark.parametrize(
    ("interval", "field"),
    [
        ({"interval_seconds": 0}, "interval_seconds"),
        ({"interval_seconds": 0.5}, "interval_seconds"),
        ({"interval_seconds": "60"}, "interval_seconds"),
        ({"interval_seconds": None}, "interval_seconds"),
        ({"interval": {"hours": 1}}, "interval"),
        ({"interval_seconds": None, "interval": {}}, "interval_seconds"),
        ({"interval_seconds": None, "interval": {"hours": -1}}, "interval.hours"),
        ({"interval_seconds": None, "interval": {"fortnights": 1}}, "interval.fortnights"),
        ({"interval_seconds": None, "interval": 5}, "interval"),
        ({"interval_seconds": 10**30}, "interval_seconds"),
    ],
)
def test_an_interval_that_is_none_is_refused(interval: dict[str, Any], field: str) -> None:
    assert [name for name, _ in refused({**EVERY_MINUTE, **interval})] == [field]


def test_an_edit_keeps_the_rhythm_unless_it_changes_it() -> None:
    before = read(EVERY_MINUTE).spec.trigger
    later = TriggerContext("sch_1", NOON + timedelta(seconds=90), "UTC", before)

    assert read({**EVERY_MINUTE, "name": "Renamed"}, later).spec.trigger == before
    assert isinstance(rule := read({**EVERY_MINUTE, "interval_seconds": 61}, later).spec.trigger.rule, FixedInterval)
    assert rule.anchor == later.now


def test_a_one_off_in_the_past_is_refused_at_creation_and_kept_by_an_edit() -> None:
    raw = {"name": "Once", "type": "oneoff", "run_at": "2027-03-01T13:00:00+01:00", "action": WEBHOOK}
    before = read(raw, replace(STANDING, now=NOON - timedelta(hours=1))).spec.trigger

    assert before.rule == OneOff(NOON, "UTC")
    assert refused(raw) == [("run_at", "is in the past")]
    assert read({**raw, "name": "Renamed"}, replace(STANDING, before=before)).name == "Renamed"


def test_a_one_off_needs_its_moment_and_an_offset() -> None:
    raw = {"name": "Once", "type": "oneoff", "action": WEBHOOK}

    assert refused(raw) == [("run_at", "is required for type oneoff")]
    assert refused({**raw, "run_at": "2028-01-01T09:00:00"})[0][0] == "run_at"


def test_h_is_resolved_by_the_schedules_id_and_stays() -> None:
    raw = {**HOURLY, "cron_expr": "H * * * *"}

    first, again = read(raw), read(raw, replace(STANDING, now=NOON + timedelta(days=9)))

    assert first.spec.trigger == again.spec.trigger
    assert "H" not in document(schedule(first))["cron_expr"]


@pytest.mark.parametrize(
    "raw",
    [
        HOURLY,
        {**EVERY_MINUTE, "max_runs": 3, "tags": ["a", "b"], "timeout_seconds": 9},
        {"name": "Once", "type": "oneoff", "run_at": "2027-03-02T13:00:00.123456Z", "action": WEBHOOK},
        {**HOURLY, "start_at": "2027-03-02T00:00:00Z", "end_at": "2027-04-02T00:00:00Z", "timezone": "Asia/Tokyo"},
    ],
)
def test_a_document_reads_back_as_the_same_draft(raw: dict[str, Any]) -> None:
    draft = read(raw)
    whole = document(schedule(draft))

    assert read(whole, replace(STANDING, before=draft.spec.trigger)) == draft


def test_an_answer_may_be_sent_back_as_a_request() -> None:
    answer = {**document(schedule(read(HOURLY))), "id": "sch_1", "status": "active", "version": 4, "next_run_at": None}

    assert read(answer) == read(HOURLY)


def test_a_patch_changes_what_it_names_and_nothing_else() -> None:
    base = document(schedule(read({**HOURLY, "retry_policy": {"max_retries": 7, "delay_seconds": 1}})))

    patched = read(merge(base, {"name": "New", "retry_policy": {"max_retries": 9}, "action": {"method": "PUT"}}))

    assert patched.name == "New"
    assert (patched.spec.retry.max_retries, patched.spec.retry.delay_seconds) == (9, 1)
    assert patched.action == {"url": "https://example.com/hook", "method": "PUT"}


def test_a_patch_with_another_type_drops_the_old_ones_fields() -> None:
    base = document(schedule(read(HOURLY)))

    patched = read(merge(base, {"type": "interval", "interval": {"minutes": 5}}))

    assert patched.spec.type is TriggerType.INTERVAL
    assert read(merge(document(schedule(patched)), {"interval": {"minutes": 6}})).spec.trigger.rule == FixedInterval(
        360, NOON
    )


def test_a_null_in_a_patch_takes_a_field_back_to_its_default() -> None:
    base = document(schedule(read({**HOURLY, "priority": 1, "tags": ["a"], "retry_policy": {"max_retries": 9}})))

    patched = read(merge(base, {"priority": None, "tags": None, "retry_policy": None}))

    assert (patched.spec.priority, patched.tags, patched.spec.retry.max_retries) == (5, (), 3)


def test_a_patch_may_use_the_seeds_payload() -> None:
    base = document(schedule(read(HOURLY)))

    assert read(merge(base, {"payload": {"method": "PUT"}})).action["method"] == "PUT"
    assert refused(merge(base, {"payload": 5}))[0][0] == "action"


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(Invalid, match="must be an object"):
        merge({}, [])
