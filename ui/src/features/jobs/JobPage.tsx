import { useQuery } from "@tanstack/react-query";
import { Ban, Download, RotateCcw } from "lucide-react";
import { useState } from "react";

import { ask, pathOf } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { JobReport } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Articles } from "@/features/articles/Articles";
import { CrawlItems } from "@/features/crawls/CrawlItems";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id, shortId } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Menu } from "@/parts/Menu";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { Kind } from "@/parts/state/Kind";
import { StateBadge } from "@/parts/state/StateBadge";
import { lookOf } from "@/parts/state/states";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo, useParam } from "@/parts/useUrl";
import { duration, millis, number } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { jobTitle } from "./job";
import { JobProgress } from "./JobProgress";

const CRUMBS = [{ label: "Crawls & articles", to: "/crawls" }];

/** One job: its progress, its results and its failures. */
export default function JobPage() {
  const id = useParam("id");
  const {
    data: job,
    error,
    refetch,
  } = useQuery({
    queryKey: [...queryKeys.run(id), "job"],
    queryFn: ({ signal }) => ask("/jobs/{job_id}/status", { params: { job_id: id }, signal }),
    refetchInterval: (query) => (query.state.data?.finished_at ? false : 1000),
    retry: false,
  });
  if (job) return <JobDetail job={job} />;
  return (
    <Page title={shortId(id)} crumbs={CRUMBS}>
      {error instanceof ProblemError && error.status === 404 ? (
        <Empty
          title={`No job ${id}`}
          actions={
            <Link to="/crawls" className="text-accent underline">
              All jobs
            </Link>
          }
        >
          It may have been removed by retention, or belong to another tenant.
        </Empty>
      ) : error ? (
        <ErrorCard error={error} what="Could not load the job" onRetry={() => void refetch()} />
      ) : (
        <Skeleton className="h-24 w-full" />
      )}
    </Page>
  );
}

function JobDetail({ job }: { job: JobReport }) {
  const [act, busy] = useCommand();
  const go = useNavigateTo();
  const [stopping, setStopping] = useState(false);
  const mayRun = usePermission("run:run");
  const mayWrite = usePermission("write:run");
  const over = Boolean(job.finished_at);
  const articles = job.kind === "articles";
  const run = job.run_id ?? job.job_id;
  const again = async (): Promise<void> => {
    const made = await act("POST", "/api/runs/{run_id}/retry", { params: { run_id: run } }, "Started again");
    if (made) go(`/crawls/${made.id}`);
  };
  const save = (format: string, type: string) => (): void => {
    void fetch(pathOf("/jobs/{job_id}/results", { params: { job_id: job.job_id } }), { headers: { Accept: type } })
      .then((answer) => answer.blob())
      .then((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = `${job.job_id}.${format}`;
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      });
  };
  return (
    <Page
      title={jobTitle(job)}
      tab={`${jobTitle(job)} · ${lookOf(job.state ?? "planned").label}`}
      state={job.state ?? undefined}
      crumbs={CRUMBS}
      aside={
        <>
          <StateBadge state={job.state ?? "planned"} />
          <span className="text-muted">
            <Id id={job.job_id} shown />
          </span>
        </>
      }
      actions={
        <>
          {mayRun && over ? (
            <Button busy={busy} icon={<RotateCcw size={14} aria-hidden />} onClick={() => void again()}>
              {articles && job.failed
                ? job.failed === 1
                  ? "Retry the failed one"
                  : `Retry the failed ${number(job.failed)}`
                : "Run again"}
            </Button>
          ) : null}
          {mayWrite && !over ? (
            <Button kind="danger" busy={busy} icon={<Ban size={14} aria-hidden />} onClick={() => setStopping(true)}>
              Cancel
            </Button>
          ) : null}
          <Menu
            trigger={<Button icon={<Download size={14} aria-hidden />}>Export</Button>}
            items={[
              { label: "JSON lines", onSelect: save("jsonl", "application/x-ndjson") },
              { label: "CSV", onSelect: save("csv", "text/csv") },
            ]}
          />
          <CopyAs
            call={{
              verb: "Show the results",
              method: "GET",
              path: `/jobs/${job.job_id}/results`,
              cli: `${articles ? "articles results" : "crawl results"} ${job.job_id}`,
            }}
          />
        </>
      }
    >
      <Card>
        <div className="flex flex-col gap-3">
          {articles ? <JobProgress job={job} /> : null}
          <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted">
            <Kind kind={job.kind} />
            <span>
              requested <Instant at={job.created_at} />
            </span>
            {job.started_at ? (
              <span>
                {over ? "took " : "for "}
                {job.finished_at ? (
                  <Duration ms={millis(job.finished_at) - millis(job.started_at)} />
                ) : (
                  <Duration since={job.started_at} />
                )}
              </span>
            ) : null}
            {articles && !over ? <Rate job={job} /> : null}
            {job.spider_job_id ? <span className="font-mono text-xs">{job.spider_job_id}</span> : null}
            {!articles
              ? Object.entries(job.progress ?? {})
                  .filter(([, value]) => typeof value === "number")
                  .map(([name, value]) => (
                    <span key={name}>
                      {number(value as number)} {name.replaceAll("_", " ")}
                    </span>
                  ))
              : null}
            <Link to={`/runs/${run}`} className="ml-auto text-accent hover:underline">
              View run and log
            </Link>
          </p>
          {job.error ? <p className="text-sm break-words text-failed-ink">{job.error.message}</p> : null}
        </div>
      </Card>
      {articles ? <Articles job={job} /> : <CrawlItems job={job} />}
      <Confirm
        open={stopping}
        onClose={() => setStopping(false)}
        danger
        title="Cancel this job?"
        action="Cancel job"
        dismiss="Keep running"
        onConfirm={() => act("DELETE", "/jobs/{job_id}", { params: { job_id: job.job_id } }, "Cancelled")}
      >
        Pending pages are removed from the queue; results so far are kept.{" "}
        {articles ? "" : "The spider will be stopped."}
      </Confirm>
    </Page>
  );
}

/** The rate of a running job, and the estimated time left. */
function Rate({ job }: { job: JobReport }) {
  const now = useNow();
  const done = (job.completed ?? 0) - (job.cached ?? 0) + (job.failed ?? 0);
  const seconds = job.started_at ? (now - millis(job.started_at)) / 1000 : 0;
  if (!done || seconds < 1) return null;
  const rate = done / seconds;
  return (
    <span>
      {rate.toFixed(1)} per second · about {duration(((job.pending ?? 0) / rate) * 1000)} left
    </span>
  );
}
