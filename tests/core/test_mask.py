"""Credentials in an action are found, also where most actions are passed over at a glance."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.core import mask
from foliot.core.mask import HIDDEN, shown

NAMES = [
    *("Authorization", "X-Auth-Token", "Cookie", "Set-Cookie", "token", "X-Secret", "passwd", "passphrase"),
    *("credential", "Bearer", "jwt", "api_key", "accessKey", "account-key", "license_key", "licence-key"),
    *("masterkey", "private_key", "subscription-key", "key", "x-key", "sig", "signature", "session", "session-id"),
    *("sid", "pass", "pwd", "authorisation", "X-API-KEY", "to\u212aen", "pa\u017f\u017fwd"),
]
ACTIONS: list[dict[str, Any]] = [
    {"url": "https://user@example.com/", "method": "POST"},
    {"url": "https://example.com/?%74oken=abcdefgh"},
    {"url": "https://example.com/#sid=abcdefgh"},
    {"url": "https://example.com/", "headers": {"X-Source": "a"}, "body": {"password": "its own"}},
    {"url": "https://example.com/inside", "headers": {"X-Up": "https://u:p@example.com/"}},
    {"cookies": {"a": "bcdefgh"}},
    {"params": {"page": 1, "nested": [{"secret": "abcdefgh"}]}},
    {"spider": "seo", "start_urls": ["https://a.example/", "https://b.example/?x=1"], "depth": 2},
    {"parameters": {"text": "nothing", "moment": b"not JSON"}},
    {},
]


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_credential_is_found(name: str) -> None:
    action = {"url": f"https://example.com/?{name}=abcdefgh&page=1", "headers": {name: "abcdefgh", "X-Source": "a"}}
    masked = shown(action)
    found = mask._HEADER.search(name) is not None, mask._QUERY.search(name) is not None
    assert any(found)
    assert (masked["headers"][name] == HIDDEN, HIDDEN in masked["url"]) == found
    assert masked["headers"]["X-Source"] == "a"


@pytest.mark.parametrize("action", ACTIONS)
def test_what_is_passed_over_holds_no_credential(action: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    masked = shown(action)
    monkeypatch.setattr(mask, "_is_innocent", lambda _: False)
    assert masked == shown(action)
    assert masked is not action
