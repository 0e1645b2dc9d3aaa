"""Another team's Celery application, which knows nothing of Foliot; its worker runs in a process of its own."""

from __future__ import annotations

import os

from celery import Celery

app = Celery("shop", broker=os.environ["SHOP_REDIS"], backend=os.environ["SHOP_REDIS"])
app.conf.task_default_queue = "shop"


def add(a: int, b: int = 0) -> int:
    return a + b


def fail() -> None:
    raise ValueError("out of stock")


app.task(name="shop.add")(add)
app.task(name="shop.fail")(fail)
