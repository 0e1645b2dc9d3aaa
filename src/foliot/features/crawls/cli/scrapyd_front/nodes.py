"""Requests to the Scrapyd nodes themselves: what they have deployed, and eggs that go on to all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlencode

from foliot.features.crawls.cli.deploy import node_address, node_authorization, node_connection


class NodeRefusal(Exception):
    """What a node answered with the status `error`, or why none answered."""


@dataclass(frozen=True, slots=True)
class FrontNodes:
    """The nodes of SCRAPYD_URL."""

    addresses: Sequence[SplitResult]

    @classmethod
    def of(cls, urls: Sequence[str]) -> FrontNodes:
        return cls([node_address(url) for url in urls])

    def ask(self, service: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The answer of the first node that is there: all of them have the same projects."""
        refusal = NodeRefusal("no Scrapyd node is configured: set SCRAPYD_URL")
        for address in self.addresses:
            try:
                return _exchange(address, "GET", f"{service}.json?{urlencode(query)}")
            except OSError as failed:
                refusal = NodeRefusal(f"no Scrapyd node answers: {failed.strerror or failed}")
        raise refusal

    def send(self, service: str, body: bytes, content_type: str) -> dict[str, Any]:
        """The same request to every node, as it came; `NodeRefusal` when one refuses or does not answer."""
        answer: dict[str, Any] | None = None
        for number, address in enumerate(self.addresses, 1):
            try:
                answer = _exchange(address, "POST", f"{service}.json", body, {"Content-Type": content_type})
            except OSError as failed:
                raise NodeRefusal(f"node {number} does not answer: {failed.strerror or failed}") from None
            except NodeRefusal as refused:
                raise NodeRefusal(f"node {number}: {refused}") from None
        if answer is None:
            raise NodeRefusal("no Scrapyd node is configured: set SCRAPYD_URL")
        return answer


def _exchange(
    address: SplitResult,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    from http.client import HTTPException

    connection = node_connection(address)
    try:
        path = f"{address.path.rstrip('/')}/{target}"
        connection.request(method, path, body=body, headers={**(headers or {}), **node_authorization(address)})
        answer = json.loads(connection.getresponse().read())
    except (HTTPException, ValueError) as failed:
        raise OSError(f"it does not answer like a Scrapyd ({type(failed).__name__})") from None
    finally:
        connection.close()
    if not isinstance(answer, dict) or answer.get("status") != "ok":
        reason = answer.get("message") if isinstance(answer, dict) else None
        lines = [line for line in str(reason or "it gave no reason").splitlines() if line.strip()]
        raise NodeRefusal(lines[-1].strip())
    return answer
