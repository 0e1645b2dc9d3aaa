"""What is worked out once about the headers of a webhook."""

from __future__ import annotations

from foliot.features.webhooks.header_plan import HeaderPlans


def test_a_plan_says_what_an_attempt_needs() -> None:
    plan = HeaderPlans().of({"Content-type": "text/plain", "X-Key": "{{ secret.partner }}", "X-Å": "ö"})

    assert plan.given == plan.shown == {"Content-type": "text/plain", "X-Key": "{{ secret.partner }}", "X-Å": "ö"}
    assert (plan.wanted, plan.typed) == (frozenset({"partner"}), True)
    assert plan.size == len("Content-typetext/plainX-Key{{ secret.partner }}X-Å") + len("ö".encode())


def test_headers_without_a_credential_are_planned_once() -> None:
    plans = HeaderPlans()
    assert plans.of({"X-Source": "orders"}) is plans.of({"X-Source": "orders"})
    assert plans.of({}) is plans.of({})
    assert plans.of({"X-Source": "orders"}) is not plans.of({"X-Source": "others"})


def test_a_credential_is_not_kept_in_memory() -> None:
    plans = HeaderPlans()
    plan = plans.of({"Authorization": "Bearer abcdefgh"})
    assert plan.shown == {"Authorization": "***"}
    assert not plans._kept
    assert "abcdefgh" not in repr(plan)
