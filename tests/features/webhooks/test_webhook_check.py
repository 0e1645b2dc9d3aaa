"""What a webhook's configuration may say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid
from foliot.features.webhooks.action import WebhookAction

URL = "https://example.com/hook"


class ClosedEgress:
    """Accepts every URL but one, and lets nothing leave."""

    def check(self, url: str) -> None:
        if url != URL:
            raise Invalid("url", "must point to a public address", got=url)

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        raise AssertionError(f"nothing may leave: {request.url}")


class NoSecrets:
    async def signing(self, tenant_id: str) -> Sequence[str]:
        return ()

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        return {}


def check(**config: Any) -> dict[str, Any]:
    return WebhookAction(egress=ClosedEgress(), secrets=NoSecrets()).check({"url": URL, **config})


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_url_alone_is_a_post_without_headers() -> None:
    assert check() == {"url": URL, "method": "POST", "headers": {}}


def test_everything_given_is_kept() -> None:
    config = {
        "method": "PUT",
        "headers": {"X-Source": "a b", "Authorization": "Bearer t"},
        "body": {"å": [1, 2.5, None]},
    }

    assert check(**config) == {"url": URL, **config}


def test_checking_the_stored_form_changes_nothing() -> None:
    once = check(method="patch", headers={"A": " x "}, body={"a": (1, 2)})

    assert check(**{name: value for name, value in once.items() if name != "url"}) == once


def test_methods_are_known_in_either_case() -> None:
    assert [check(method=m)["method"] for m in ("get", "Head", "OPTIONS", "delete")] == [
        "GET",
        "HEAD",
        "OPTIONS",
        "DELETE",
    ]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "POST\r\n", "", 1, ["GET"]])
def test_other_methods_are_refused(method: object) -> None:
    with pytest.raises(Invalid, match="method"):
        check(method=method)


def test_a_missing_url_is_named() -> None:
    with pytest.raises(Invalid, match="url: is required"):
        WebhookAction(egress=ClosedEgress(), secrets=NoSecrets()).check({})


def test_the_egress_has_its_say_about_the_url() -> None:
    with pytest.raises(Invalid, match="public address"):
        check(url="http://10.0.0.1/")


def test_a_misspelt_field_comes_back_with_a_suggestion() -> None:
    with pytest.raises(Invalid, match="did you mean 'headers'"):
        check(header={})


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "CONNECTION",
        "webhook-id",
        "Webhook-Signature",
        "idempotency-key",
        "X-Foliot-Attempt",
        "x-foliot-anything",
        "User-Agent",
        "Expect",
        "Upgrade",
        "Proxy-Authorization",
    ],
)
def test_headers_that_are_ours_cannot_be_overridden(name: str) -> None:
    with pytest.raises(Invalid, match="set by Foliot"):
        check(headers={name: "x"})


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "å", "a\x00", "(a)"])
def test_a_header_needs_a_proper_name(name: str) -> None:
    with pytest.raises(Invalid, match="headers"):
        check(headers={name: "x"})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00", "\x7f", "\x85", "\ud800", 7, None, ["a"]])
def test_a_header_value_is_plain_text_and_never_repeated_in_the_complaint(value: object) -> None:
    with pytest.raises(Invalid, match=r"headers\.X-A") as caught:
        check(headers={"X-A": value})

    assert caught.value.got is None


def test_a_header_is_given_once_whatever_its_case() -> None:
    with pytest.raises(Invalid, match="twice"):
        check(headers={"X-A": "1", "x-a": "2"})


def test_headers_are_at_most_64_and_16_kib() -> None:
    assert len(check(headers={f"X-{n}": "v" for n in range(64)})["headers"]) == 64
    with pytest.raises(Invalid, match="at most 64"):
        check(headers={f"X-{n}": "v" for n in range(65)})
    check(headers={"X-A": "v" * (16 * 1024 - 3)})
    with pytest.raises(Invalid, match="16 KiB"):
        check(headers={"X-A": "v" * (16 * 1024 - 2)})


@pytest.mark.parametrize("headers", [[], "X-A: 1", 1])
def test_headers_are_an_object(headers: object) -> None:
    with pytest.raises(Invalid, match="headers"):
        check(headers=headers)


def test_a_body_is_at_most_256_kib() -> None:
    most = 256 * 1024 - 2
    assert len(check(body="x" * most)["body"]) == most
    with pytest.raises(Invalid, match="256 KiB"):
        check(body="x" * (most + 1))


def test_a_body_is_at_most_64_deep_and_a_hundred_thousand_deep_is_no_crash() -> None:
    check(body=nested(64))
    for depth in (65, 100_000):
        with pytest.raises(Invalid, match="64 deep"):
            check(body={"a": nested(depth - 1)} if depth == 65 else nested(depth))


def test_a_body_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(Invalid, match="64 deep"):
        check(body=endless)


@pytest.mark.parametrize(
    "body",
    [
        float("nan"),
        {"a": float("inf")},
        [float("-inf")],
        {"a": "\x00"},
        {"a\x00": 1},
        {"a": "\ud800"},
        {"a": 2**64},
        {1: "a"},
        {"a": {1, 2}},
        {"a": b"bytes"},
    ],
)
def test_a_body_is_json_that_every_database_can_keep(body: object) -> None:
    with pytest.raises(Invalid, match="body"):
        check(body=body)


def test_the_stored_body_is_a_copy() -> None:
    body = {"a": [1]}
    stored = check(body=body)["body"]
    body["a"].append(2)

    assert stored == {"a": [1]}


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["{{ secret.TOKEN }}", "{{secret.TOKEN}}", "Bearer {{ secret._t1 }} and {{ secret.B }}"]
)
def test_a_header_may_name_secrets(value: str) -> None:
    assert check(headers={"Authorization": value})["headers"] == {"Authorization": value}


@pytest.mark.parametrize("value", ["{{ other.TOKEN }}", "{ secret.TOKEN }", "{{ secretary }}", "secret.TOKEN"])
def test_braces_that_mean_something_else_stay_as_they_are(value: str) -> None:
    assert check(headers={"X-Mine": value})["headers"] == {"X-Mine": value}


@pytest.mark.parametrize(
    "value",
    [
        "{{ secrets.TOKEN }}",
        "{{ Secret.TOKEN }}",
        "{{ secret.1 }}",
        "{{ secret.a-b }}",
        "{{ secret }}",
        "{{ secret.TOKEN",
        "{{ secret.TOKEN }",
        "{{ secret.OK }} {{ secret.not ok }}",
        "{{ secret." + "x" * 65 + " }}",
        "{{- secret.TOKEN }}",
    ],
)
def test_what_looks_like_a_secret_and_is_none_is_refused(value: str) -> None:
    with pytest.raises(Invalid, match=r"headers\.X-Mine: must name a secret as \{\{ secret.NAME \}\}"):
        check(headers={"X-Mine": value})


def test_the_signing_secret_is_never_sent() -> None:
    with pytest.raises(Invalid, match="which signs and is never sent"):
        check(headers={"X-Mine": "{{ secret.webhook_signing }}"})


@pytest.mark.parametrize(
    "body", ["{{ secret.TOKEN }}", {"a": [{"b": "x {{secret.TOKEN}}"}]}, {"{{ secret.TOKEN }}": 1}, ["{{ secrets.T }}"]]
)
def test_a_secret_in_the_body_is_refused(body: Any) -> None:
    with pytest.raises(Invalid, match=r"body: must not contain a secret: .* works in the values of headers only"):
        check(body=body)


@pytest.mark.parametrize(
    "tail", ["?key={{ secret.TOKEN }}", "/{{secret.TOKEN}}", "?key=%7B%7B%20secret.TOKEN%20%7D%7D", "?k={{+secret.T+}}"]
)
def test_a_secret_in_the_url_is_refused(tail: str) -> None:
    with pytest.raises(Invalid, match="url: must not contain a secret"):
        check(url=URL + tail)
