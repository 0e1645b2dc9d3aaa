"""What the near side of a broker alone can do: runs handed over per second, beside Celery's own ways."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from time import perf_counter

from kombu import Connection
from measuring import Report

from foliot.cluster.celery.app import TASK, make_app, options, queue_of
from foliot.cluster.celery.publisher import CeleryBroker
from foliot.cluster.frames import PARCEL, BrokerMessage
from foliot.core.ids import RUN, new_id

QUEUE = "foliot_bench_parcels"
HANDED, SINGLY, CONFIRMED = 20_000, 1000, 300


async def hand_over(name: str, url: str, report: Report) -> None:
    """The marks in the database are not part of it."""
    now, run_ids = datetime.now(UTC), [new_id(RUN) for _ in range(HANDED)]
    parcels = [BrokerMessage(QUEUE, 5, run_ids[start : start + PARCEL], now) for start in range(0, HANDED, PARCEL)]
    singles = [BrokerMessage(QUEUE, 5, [run_id], now) for run_id in run_ids[:SINGLY]]
    broker = CeleryBroker(url)
    try:
        await broker.check()
        report.add(f"HAND-OVER {name}", ids_per_second=HANDED / await _timed(broker, parcels, 20))
        report.add(f"HAND-OVER {name}", single_messages_per_second=SINGLY / await _timed(broker, singles, SINGLY))
        if name == "RabbitMQ":
            report.add("CONFIRM EACH", ids_per_second=CONFIRMED / await _timed(broker, singles[:CONFIRMED], 1))
        report.add(f"apply_async {name}", ids_per_second=await asyncio.to_thread(_apply_async, url, run_ids[:SINGLY]))
    finally:
        await broker.close()
        await asyncio.to_thread(remove, QUEUE, url)


async def _timed(broker: CeleryBroker, parcels: list[BrokerMessage], at_once: int) -> float:
    began = perf_counter()
    for start in range(0, len(parcels), at_once):
        await broker.publish(parcels[start : start + at_once])
    return perf_counter() - began


def _apply_async(url: str, run_ids: list[str]) -> float:
    app = make_app(url, [QUEUE])
    began = perf_counter()
    for run_id in run_ids:
        app.send_task(TASK, [[run_id]], queue=QUEUE)
    return len(run_ids) / (perf_counter() - began)


def remove(queue: str, url: str) -> None:
    """Leave nothing on a broker that others use."""
    with Connection(url, transport_options=options(url)) as connection:
        queue_of(queue, url).bind(connection.channel()).delete()
