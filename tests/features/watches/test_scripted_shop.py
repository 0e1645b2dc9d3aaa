"""A shop of fifty pages with a scripted life: the changes equal the script, and alerts come at the crossing."""

from __future__ import annotations

from typing import Any

from foliot.app.http import create_app
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.world import open_world

PAGES = 50
PRICES = {number: 40.0 + number for number in range(PAGES)}
CAPTCHA = "<title>Just a moment...</title><div class='cf-challenge'>Verify you are human</div>"
LOGIN = "<title>Sign in</title><form action=/login><input name=user><input type=password name=password></form>"
Said = tuple[int, str, str | None]


class Script:
    """What happens to the shop, visit by visit, and what the list of changes must say."""

    def __init__(self, watched: Watched) -> None:
        self.site = watched.site
        self.prices = dict(PRICES)
        self.round = 0
        self.said: list[Said] = []
        self.alerts: list[str] = []

    def write(self, number: int) -> None:
        """The page as it is, with noise that differs at each visit."""
        noise = f"visitor {self.round * 17 + number}, 2026-01-{self.round + 1:02d}"
        self.site.write(f"/{number}", product(f"{self.prices[number]:.2f} €", f"Product {number}", noise))

    def price(self, number: int, price: float) -> None:
        crossed = price < 30 <= self.prices[number]
        self.prices[number] = price
        self.write(number)
        self.said.append((number, "changed", f"{price:.2f}"))
        if crossed:
            self.alerts.append(f"/{number}")

    def remove(self, number: int) -> None:
        self.site.pages.pop(f"/{number}")
        self.said.append((number, "removed", None))

    def bring_back(self, number: int) -> None:
        self.write(number)
        self.said.append((number, "new", f"{self.prices[number]:.2f}"))

    def play(self) -> None:
        """One round: noise everywhere, and what the script has for it."""
        self.round += 1
        for number in range(PAGES):
            if f"/{number}" in self.site.pages and number not in {10, 11, 12, 13}:
                self.write(number)
        match self.round:
            case 1:
                self.price(3, 28.0)
                self.price(4, 43.5)
            case 2:
                self.price(3, 27.0)
                self.site.write("/10", CAPTCHA, 403)
                self.site.write("/11", LOGIN)
                self.site.write("/12", "<h1>Product 12</h1><span class=cost>52.00 €</span>")
                self.site.write("/13", "<h1>Internal error</h1>", 500)
            case 3:
                self.remove(20)
                self.price(3, 31.0)
            case 4:
                # The walls are gone: two pages are as they were, one has changed behind its wall.
                self.write(10)
                self.price(11, 12.0)
                self.write(12)
                self.write(13)
                self.price(3, 29.0)
            case 5:
                self.bring_back(20)
                self.price(21, 61.5)
            case 6:
                self.remove(20)
                self.price(21, 61.0)
            case _:
                pass


async def test_the_list_of_changes_equals_the_script_and_alerts_come_at_the_crossing_alone() -> None:
    async with open_world() as world:
        client = Client(create_app(world.cases))
        watched = Watched(world, client)
        alerting = Alerting.on(world, client)
        await alerting.rule(await alerting.channel(), on=["changed"])
        script = Script(watched)
        for number in range(PAGES):
            script.write(number)
        await watched.create(urls=[f"{SHOP}/{number}" for number in range(PAGES)], when="price < 30")
        await watched.pass_time()
        for _ in range(8):
            script.play()
            await watched.pass_time()
        found: list[dict[str, Any]] = []
        while more := (await watched.get(f"/api/changes?after={found[-1]['seq'] if found else 0}&limit=5"))["items"]:
            found += more
        assert sorted((_said(change) for change in found), key=str) == sorted(script.said, key=str)
        counted = [change["url"].removeprefix(SHOP) for change in found if change["matched"]]
        assert sorted(counted) == sorted(script.alerts) == ["/11", "/3", "/3"]
        alerts = (await client.get("/api/alerts")).json["items"]
        assert sorted(alert["summary"].split()[1].removeprefix(SHOP) for alert in alerts) == sorted(script.alerts)
        states = (await watched.get(watched.path))["states"]
        assert states == {"removed": 1, "same": PAGES - 1}


def _said(change: dict[str, Any]) -> Said:
    price = change["fields"]["price"]["new"] if "price" in change["fields"] else None
    return int(change["url"].rsplit("/", 1)[1]), change["kind"], None if price is None else price["amount"]
