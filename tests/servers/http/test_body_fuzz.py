"""Puts every JSON type at every leaf of every request body: whatever is sent, the answer is no 5xx.

The bodies are read off the OpenAPI document, so a new route is covered by being there. Every leaf gets one value of
each type, and some more by chance: `FOLIOT_FUZZ=1000` that many for each route, `FOLIOT_FUZZ=full` all there are;
`FOLIOT_FUZZ_SEED` chooses others.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import orjson
import pytest

from foliot.core.access import Role
from foliot.features.tenants.usecases import Tenants
from foliot.testing import open_store
from tests.asgi import Client
from tests.declared import openapi
from tests.matrix import OURS, THEIRS, House, Route, caller, furnish, routes
from tests.world import EVERY_MINUTE, HOURLY

SIZE = os.environ.get("FOLIOT_FUZZ", "10")
SEED = os.environ.get("FOLIOT_FUZZ_SEED", "1")
TWICE = 0.25
"""How often a second leaf is spoiled as well."""
DEEPEST = 8
ITEM = 0
"""The step from a list to what is in it."""

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Raw:
    """JSON that Python would not write."""

    text: str


DEEP: Any = orjson.loads("[" * 70 + "]" * 70)
VALUES: tuple[Any, ...] = (
    None,
    *(True, False, 0, -1, 1, 1.5, -0.0, 1e308, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1),
    *("", " ", "x", "0", "-1", "*", "%", "{}", "{{x}}", "null", "\x00", "\u202e", "é😀", "a" * 300, "9" * 400),
    *(
        "http://",
        "http://[::1",
        "http://x:99999/",
        "https://example.com/#\x00",
        "a,b",
        "state:",
        'state:"',
        "((((",
        "$.",
    ),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-02-30", "2026-01-01T00:00:00Z", "24h", "P1Y"),
    *([], [None], [[]], [{}], ["x"], [0], [True], ["x", "x"], [0] * 2000),
    *({}, {"": None}, {"x": {}}, {"x": [1]}, {"a" * 300: "b"}, {"\x00": "\x00"}, {"kind": []}, {"mode": {}}),
    *(Raw("1e999"), Raw("-1e999"), Raw("1" * 40), Raw('"\\ud800"'), Raw("NaN"), Raw('{"x":1,"x":2}')),
    DEEP,
)

TYPES: dict[str, list[Any]] = {}
for _value in VALUES:
    _kind = type(_value).__name__
    TYPES.setdefault("number" if _kind in {"int", "float"} else _kind, []).append(_value)

DOCUMENT = openapi()
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if "application/json" in operation.get("requestBody", {}).get("content", {})
]


def schema_of(operation: str) -> Mapping[str, Any]:
    method, path = operation.split(" ")
    found: Mapping[str, Any] = DOCUMENT["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]
    return cast("Mapping[str, Any]", found["schema"])


def places(schema: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Sequence[Any]]]:
    """Every place of a body, with the values that the document names for it."""
    if len(path) > DEEPEST:
        return
    if "$ref" in schema:
        yield from places(DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], path)
        return
    yield path, [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    for variant in [one for word in ("anyOf", "oneOf", "allOf") for one in schema.get(word, ())]:
        yield from places(variant, path)
    for name, inner in schema.get("properties", {}).items():
        yield from places(inner, (*path, name))
    if isinstance(schema.get("items"), dict):
        yield from places(schema["items"], (*path, ITEM))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from places(schema["additionalProperties"], (*path, "x"))


def leaves(body: Any, path: Path = ()) -> Iterator[Path]:
    """Every place of a body that is there."""
    yield path
    if isinstance(body, dict):
        for name, inner in body.items():
            yield from leaves(inner, (*path, name))
    if isinstance(body, list) and body:
        yield from leaves(body[0], (*path, ITEM))


def bodies(route: Route, house: House) -> list[Any]:
    """Bodies that the route takes, as far as it can be known; what else there is has its kinds of actions here."""
    made = [route.body(house.ours) or {}]
    if route.path.startswith("/api/schedules") and isinstance(made[0], dict) and made[0].get("name"):
        made += [
            HOURLY,
            {**EVERY_MINUTE, "action": {"kind": "crawl", "spider": "x", "start_urls": ["https://example.com/"]}},
            {**EVERY_MINUTE, "action": {"kind": "articles", "articles": [{"url": "https://example.com/"}]}},
            {**EVERY_MINUTE, "action": {"kind": "task", "task": "greet", "parameters": {"name": "x"}}},
        ]
    if route.path == "/api/schedules/batch":
        made += [{"schedules": [HOURLY, EVERY_MINUTE], "atomic": False}]
    if route.path == "/api/bulk":
        # What its document says of none: how each act is asked for.
        made += [
            {"action": act, "filter": "", "dry_run": True}
            for act in DOCUMENT["components"]["schemas"]["BulkOperation"]["enum"]
        ]
        made += [{"action": "replay", "ids": [house.ours.letter_id], "patch": {"url": "https://example.com/"}}]
    return made


def put(body: Any, path: Path, value: Any) -> Any:
    """The body with this value there; what leads to it is made where it is missing."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        made = list(body) if isinstance(body, list) else []
        return [put(made[0] if made else None, rest, value), *made[1:]]
    found = dict(body) if isinstance(body, dict) else {}
    return {**found, step: put(found.get(step), rest, value)}


def written(body: Any) -> bytes:
    raws: list[str] = []

    def stand_in(value: Any) -> str:
        raws.append(value.text)
        return f"@raw{len(raws) - 1}@"

    text = orjson.dumps(body, default=stand_in)
    for at, raw in enumerate(raws):
        text = text.replace(b'"@raw%d@"' % at, raw.encode())
    return text


def spoiled(operation: str, route: Route, house: House) -> Iterator[bytes]:
    """The bodies to send: all of them, or so many, always the same."""
    chance = random.Random(f"{SEED} {operation}")
    good = bodies(route, house)
    named: dict[Path, list[Any]] = {}
    for path, known in places(schema_of(operation)):
        named.setdefault(path, []).extend(known)
    for body in good:
        for path in leaves(body):
            named.setdefault(path, [])
    ways = [
        (at, path, value) for at in range(len(good)) for path, known in named.items() for value in (*VALUES, *known)
    ]
    if SIZE != "full":
        each = [(chance.randrange(len(good)), path, chance.choice(kind)) for path in named for kind in TYPES.values()]
        ways = each + chance.sample(ways, min(int(SIZE), len(ways)))
    for at, path, value in ways:
        body = put(deepcopy(good[at]), path, value)
        if path and chance.random() < TWICE:
            body = put(body, chance.choice(list(named)[1:] or [path]), chance.choice(VALUES))
        yield written(body)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_store() as store:
        made = House.on(store, await furnish(store))
        # A fuzz makes more of everything than a tenant usually may have.
        await made.world.cases[Tenants].put(caller(OURS, Role.SYSTEM), OURS, {"limits": {"schedules": 1_000_000}})
        yield made


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.timeout(3600 if SIZE == "full" else 60)
async def test_no_value_anywhere_makes_a_server_error(house: House, operation: str) -> None:
    (route,) = [one for one in routes(house.app) if str(one) == operation]
    client = Client(house.app, quiet=True)
    bearer = f"Bearer {house.token(OURS, route.owner())}"
    url = route.url(house.ours).replace(f"/tenants/{OURS}", f"/tenants/{THEIRS}")
    failed: dict[tuple[int, str], bytes] = {}
    answered: set[int] = set()

    for sent in spoiled(operation, route, house):
        answer = await client.send(route.method, url, sent, Authorization=bearer)
        answered.add(answer.status)
        if answer.status >= 500 or not speaks(answer.body):
            failed.setdefault((answer.status, answer.text[:80]), sent[:300])
            if len(failed) >= 8:
                break

    assert failed == {}
    assert answered - {429}, "every request was refused before its body was read"


def speaks(body: bytes) -> bool:
    try:
        orjson.loads(body or b"null")
    except orjson.JSONDecodeError:
        return False
    return True


def test_the_fuzz_reaches_every_leaf() -> None:
    found = dict(places(schema_of("POST /api/schedules")))

    assert {("name",), ("catchup", "mode"), ("tags", ITEM)} <= set(found), sorted(map(str, found))
    assert len(OPERATIONS) >= 23
