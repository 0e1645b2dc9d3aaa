"""The price scheduler: gRPC, queues of Celery, and five jobs that come with it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import foliot.proto.scheduler_service_pb2 as messages
import foliot.proto.scheduler_service_pb2_grpc as stubs
from foliot.config.settings import Settings
from tests.acceptance.house import House
from tests.seeds.conftest import Start
from tests.services import free_port, wait_until

pytestmark = pytest.mark.timeout(240)

CLIENT = """
import grpc
from shared.proto import scheduler_service_pb2_grpc, scheduler_service_pb2

# Connect to service
channel = grpc.insecure_channel('localhost:50054')
stub = scheduler_service_pb2_grpc.SchedulerServiceStub(channel)

# Create a new scheduled job
response = stub.CreateScheduledJob(
    scheduler_service_pb2.CreateScheduledJobRequest(
        name="Custom Scraping Job",
        job_type="SCRAPING",
        target_service="scraper-service",
        target_method="ScrapeCompetitorPrices",
        schedule_config=scheduler_service_pb2.ScheduleConfig(
            type="cron",
            config={"hour": "10", "minute": "0"}
        ),
        parameters={"competitor_ids": ["amazon"]},
        description="Custom job description"
    )
)
created = response

# List all jobs
jobs = stub.ListScheduledJobs(
    scheduler_service_pb2.ListScheduledJobsRequest()
)

# Execute job immediately
response = stub.ExecuteJobNow(
    scheduler_service_pb2.ExecuteJobRequest(job_id="job-123")
)

# Get job status
status = stub.GetJobStatus(
    scheduler_service_pb2.GetJobStatusRequest(job_id="job-123")
)
"""
ENVIRONMENT = {
    "MONGODB_URL": "mongodb://admin:password123@mongodb:27017",
    "CELERY_BROKER_URL": "amqp://guest:guest@rabbitmq:5672//",
    "CELERY_RESULT_BACKEND": "redis://redis:6379/0",
    "GRPC_PORT": "50054",
    "LOG_LEVEL": "INFO",
    "SCRAPER_SERVICE_URL": "scraper-service:50053",
    "PRICING_SERVICE_URL": "pricing-service:50052",
}
JOBS = {
    "daily-competitor-scraping": ("cron", "0 8 * * *", "scraping", "scrape_competitor_prices"),
    "quick-price-check": ("cron", "0 */4 * * *", "scraping", "scrape_competitor_prices"),
    "weekly-price-analysis": ("cron", "0 2 * * SUN", "analysis", "comprehensive_price_analysis"),
    "health-check": ("cron", "*/5 * * * *", "monitoring", "health_check_services"),
    "cleanup": ("cron", "0 3 * * MON", "maintenance", "cleanup_old_execution_records"),
}


@pytest.fixture(scope="module")
def grpc_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def up(start: Start, grpc_port: int) -> House:
    # No scraper answers there: what it is asked waits, and everything else is answered.
    return start(
        FOLIOT_GRPC_PORT=str(grpc_port),
        SCRAPER_SERVICE_URL=f"127.0.0.1:{free_port()}",
        PRICING_SERVICE_URL=f"127.0.0.1:{free_port()}",
    )


def test_the_client_runs_as_it_is_written_but_for_the_id(
    up: House, grpc_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, proto = ModuleType("shared"), ModuleType("shared.proto")
    proto.scheduler_service_pb2, proto.scheduler_service_pb2_grpc = messages, stubs  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shared", shared)
    monkeypatch.setitem(sys.modules, "shared.proto", proto)
    first, second = CLIENT.split("# Execute job immediately")
    seen: dict[str, Any] = {}
    exec(first.replace("50054", str(grpc_port)), seen)
    exec(second.replace('"job-123"', repr(seen["created"].job_id)), seen)
    seen["channel"].close()

    job = seen["created"]
    assert (job.name, job.target_service, job.target_method) == (
        "Custom Scraping Job", "scraper-service", "ScrapeCompetitorPrices",
    )  # fmt: skip
    assert (job.queue, job.description) == ("scraping", "Custom job description")
    assert job.parameters["competitor_ids"][0] == "amazon"
    assert job.job_id in {one.job_id for one in seen["jobs"].jobs}
    assert seen["response"].run_id == seen["status"].run_id
    assert seen["status"].queue == "manual"


def test_the_five_jobs_come_as_a_preset(up: House) -> None:
    up.foliot("preset", "load", "price-monitoring")
    found = {one["name"].lower().replace(" ", "-"): one for one in up.foliot("schedule", "list")["items"]}

    seen = {}
    for name in JOBS:
        one = found[name]
        seen[name] = (one["type"], one["cron_expr"], one["queue"], one["action"]["task"])
    assert seen == JOBS
    assert all(found[name]["timezone"] == "UTC" for name in JOBS)


def test_the_diagnostics_have_a_command_each(up: House) -> None:
    # The first report of a process comes a moment after its API answers.
    assert wait_until(lambda: up.run("worker", "ping").returncode == 0, seconds=10)
    assert {"scrape_competitor_prices", "health_check_services"} <= {
        one["name"] for one in up.foliot("task", "list")["items"]
    }
    queues = {one["name"] for one in up.foliot("queue", "list")["items"]}
    assert {"scraping", "analysis", "monitoring", "maintenance", "manual", "default"} <= queues


def test_the_table_of_variables_is_understood() -> None:
    settings = Settings.load(ENVIRONMENT | {"DATABASE_URL": "postgresql://db/foliot"})

    assert (settings.grpc_port, settings.mongo_uri is not None) == (50054, True)
    assert settings.broker_url is not None
