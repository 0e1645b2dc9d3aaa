"""Creates a job over gRPC, lists all jobs, executes the new one and follows it to its end.

Start Foliot (`make run`), then: `.venv/bin/python examples/grpc_client.py`. With accounts on, set FOLIOT_TOKEN.
"""

from __future__ import annotations

import os
import sys

import grpc

from foliot.proto import scheduler_service_pb2, scheduler_service_pb2_grpc

ADDRESS = os.environ.get("FOLIOT_GRPC", "localhost:50054")
TOKEN = os.environ.get("FOLIOT_TOKEN")
METADATA = [("authorization", f"Bearer {TOKEN}")] if TOKEN else []


def main() -> None:
    # Connect to service
    channel = grpc.insecure_channel(ADDRESS)
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
                config={"hour": "10", "minute": "0"},
            ),
            parameters={"competitor_ids": ["amazon"]},
            description="Custom job description",
        ),
        metadata=METADATA,
    )
    print(f"created   {response.job_id}  {response.summary}, next {response.next_run_at.ToJsonString()}")

    # List all jobs
    jobs = stub.ListScheduledJobs(scheduler_service_pb2.ListScheduledJobsRequest(), metadata=METADATA)
    for job in jobs.jobs:
        print(f"listed    {job.job_id}  {job.name} ({job.job_type}): {job.status}")

    # Execute job immediately
    run = stub.ExecuteJobNow(scheduler_service_pb2.ExecuteJobRequest(job_id=response.job_id), metadata=METADATA)
    print(f"executed  {run.run_id}  {run.status}")

    # Get job status
    status = stub.GetJobStatus(scheduler_service_pb2.GetJobStatusRequest(job_id=response.job_id), metadata=METADATA)
    print(f"status    {status.run_id}  {status.status}")

    if "--watch" in sys.argv:
        for event in stub.WatchJob(scheduler_service_pb2.WatchJobRequest(job_id=run.run_id), metadata=METADATA):
            print(f"event     {event.seq:>3}  {event.state or event.level}  {event.message}")


if __name__ == "__main__":
    main()
