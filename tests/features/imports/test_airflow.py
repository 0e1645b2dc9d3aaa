"""Airflow: a DAG becomes schedules that follow one another, at the instants of croniter, which Airflow uses."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from croniter import croniter

from foliot.features.commands.config import read_command
from foliot.features.imports.model.airflow import read_airflow
from foliot.features.imports.model.imported import UnreadableSource
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

DAGS = """
import pendulum
from datetime import datetime, timedelta
from airflow import DAG
from airflow.decorators import dag
from airflow.operators.bash import BashOperator
from airflow.operators.empty import EmptyOperator
from airflow.operators.python import PythonOperator
from shop.jobs import report

with DAG(
    "shop",
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="Europe/Stockholm"),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
) as shop:
    begin = EmptyOperator(task_id="begin")
    fetch = BashOperator(task_id="fetch", bash_command="python fetch.py", env={"LEVEL": "3"}, cwd="/srv/shop")
    clean = BashOperator(task_id="clean", bash_command="python clean.py", trigger_rule="all_done")
    send = PythonOperator(task_id="send", python_callable=report, op_args=[1], execution_timeout=timedelta(hours=1))
    begin >> fetch >> [clean, send]

DAG("manual", schedule=None, start_date=datetime(2026, 1, 1))

with DAG(dag_id="templated", schedule="@daily", start_date=datetime(2026, 1, 1)):
    BashOperator(task_id="one", bash_command="echo {{ ds }}")

with DAG(dag_id="alone", schedule=timedelta(hours=6), start_date=datetime(2026, 1, 1)):
    BashOperator(task_id="one", bash_command="echo hello")

with DAG(dag_id="sensing", schedule="@daily", start_date=datetime(2026, 1, 1)):
    FileSensor(task_id="wait", filepath="/tmp/x")

@dag(schedule="@daily")
def functions():
    pass
"""


def read() -> Any:
    return read_airflow([("/dags/shop.py", DAGS)])


def test_the_tasks_of_a_dag_follow_one_another() -> None:
    fetch, clean, send, alone = read().documents

    assert (fetch["name"], fetch["cron_expr"], fetch["timezone"]) == ("shop.fetch", "30 2 * * *", ZONE)
    assert fetch["overlap"] == "buffer_all"
    assert fetch["action"] == {
        "kind": "command", "argv": ["python fetch.py"], "shell": True, "env": {"LEVEL": "3"}, "cwd": "/srv/shop",
    }  # fmt: skip
    assert fetch["retry_policy"]["max_retries"] == 2
    assert clean["after"] == {"schedule": ["shop.fetch"], "outcome": "any"}
    assert send["after"] == {"schedule": ["shop.fetch"], "outcome": "success"}
    assert (send["timeout_seconds"], send["action"]["argv"][3:]) == (3600, ["shop.jobs", "report", "[[1], {}]"])
    assert (alone["name"], alone["type"], alone["interval_seconds"]) == ("alone", "interval", 21_600)
    for document in (fetch, clean, send, alone):
        read_command({name: value for name, value in document["action"].items() if name != "kind"})


def test_what_does_not_carry_over_has_a_note() -> None:
    left = {note.entry: note.text for note in read().notes if note.text.startswith("left out")}

    assert "no operator" in left["manual"]
    assert "Airflow fills it in" in left["templated"]
    assert "FileSensor has no equivalent" in left["sensing"]
    assert "@dag" in left["functions"]


def test_a_source_without_dags_is_refused() -> None:
    with pytest.raises(UnreadableSource, match="has no DAG"):
        read_airflow([("x.py", "print(1)")])
    with pytest.raises(UnreadableSource, match="is not Python"):
        read_airflow([("x.py", "def")])


def test_generated_dags_run_when_croniter_says() -> None:
    random_ = random.Random(24)
    for number in range(ENTRIES):
        expression = " ".join(generated_fields(random_))
        text = (
            f"with DAG('d{number}', schedule={expression!r}, start_date=pendulum.datetime(2020, 1, 1, tz={ZONE!r})):\n"
            "    BashOperator(task_id='t', bash_command='true')\n"
        )
        trigger = trigger_of(read_airflow([("d.py", text)]).documents[0])
        for start in STARTS:
            # Airflow asks croniter for local times without a zone.
            found = croniter(expression, local(start).replace(tzinfo=None))
            theirs: list[datetime] = []
            for _ in range(EACH):
                naive = found.get_next(datetime)
                theirs.append(naive.replace(tzinfo=local(start).tzinfo).astimezone(UTC))
            assert same(instants(trigger, start), theirs), expression
