import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask, pathOf } from "@/api/client";
import type { JobReport } from "@/api/schema";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, command } from "@/parts/copy/snippets";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { Segments } from "@/parts/Segments";
import { Kind } from "@/parts/state/Kind";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useUrl } from "@/parts/useUrl";
import { millis, number } from "@/time/moment";

import { jobTitle } from "./job";
import { JobProgress } from "./JobProgress";
import { SubmitForm } from "./SubmitForm";

const STEP = 50;
const rowId = (job: JobReport): string => job.job_id;
const CHOICES = [
  ["", "All"],
  ["running", "Running"],
  ["finished", "Finished"],
  ["error", "Failed"],
  ["cancelled", "Cancelled"],
] as const;

const columns: Column<JobReport>[] = [
  {
    id: "state",
    header: "State",
    width: "110px",
    card: "side",
    order: "state",
    cell: (job) => <StateBadge state={job.state ?? "planned"} />,
  },
  {
    id: "job",
    header: "Job",
    width: "minmax(160px, 2fr)",
    card: "lead",
    cell: (job) => (
      <Link to={`/crawls/${job.job_id}`} className="font-medium hover:underline" title={jobTitle(job)}>
        {jobTitle(job)}
      </Link>
    ),
  },
  { id: "kind", header: "Kind", width: "84px", card: "none", cell: (job) => <Kind kind={job.kind} /> },
  {
    id: "began",
    header: "Requested",
    width: "100px",
    card: "meta",
    order: "-created_at",
    cell: (job) => <Instant at={job.created_at} />,
  },
  {
    id: "took",
    header: "Duration",
    width: "80px",
    order: "-duration",
    right: true,
    card: "none",
    cell: (job) =>
      job.started_at ? (
        job.finished_at ? (
          <Duration ms={millis(job.finished_at) - millis(job.started_at)} />
        ) : (
          <Duration since={job.started_at} />
        )
      ) : (
        "–"
      ),
  },
  {
    id: "band",
    header: "Progress",
    width: "minmax(140px, 1.5fr)",
    card: "meta",
    cell: (job) =>
      job.total_articles === null ? <CrawlProgress job={job} /> : <JobProgress job={job} words={false} />,
  },
  {
    id: "counts",
    header: "Fetched",
    width: "80px",
    right: true,
    card: "none",
    cell: (job) =>
      job.total_articles === null ? "–" : `${number(job.completed ?? 0)} / ${number(job.total_articles)}`,
  },
  {
    id: "error",
    header: "Error",
    width: "minmax(100px, 1.5fr)",
    card: "none",
    cell: (job) => (
      <span className="truncate text-failed-ink">
        {job.error?.message ?? (job.failed ? `${number(job.failed)} failed` : "")}
      </span>
    ),
  },
  {
    id: "id",
    header: "Id",
    width: "124px",
    card: "none",
    cell: (job) => <Id id={job.job_id} to={`/crawls/${job.job_id}`} />,
  },
];

function CrawlProgress({ job }: { job: JobReport }) {
  const progress = job.progress ?? {};
  const counts = Object.entries(progress).filter(([, value]) => typeof value === "number");
  return (
    <span className="truncate text-muted">
      {counts.map(([name, value]) => `${number(value as number)} ${name.replaceAll("_", " ")}`).join(" · ") || "–"}
    </span>
  );
}

/** The API lists both kinds at once, the CLI each by a command of its own. */
const listing = (
  verb: string,
  words: string,
  query: { kind: "articles" | "crawl"; status_filter: string; limit: number; sort?: string },
): Call => ({
  verb,
  method: "GET",
  path: pathOf("/jobs/", { query }),
  cli: command(words, { "--status": query.status_filter, "--limit": query.limit, "--sort": query.sort }),
});

/** Jobs: crawls and batches of articles. */
export default function JobsPage() {
  const [status, setStatus] = useUrl("status");
  const [most, setMost] = useUrl("limit", String(STEP));
  const [order, setOrder] = useUrl("sort");
  const query = useMemo(
    () => ({ status_filter: status, limit: Number(most) || STEP, ...(order ? { sort: order } : {}) }),
    [status, most, order],
  );
  const list = useQuery({
    queryKey: ["runs", "jobs", query],
    queryFn: ({ signal }) => ask("/jobs/", { query, signal }),
    placeholderData: (before) => before,
  });
  const jobs = list.data?.jobs ?? [];
  const total = list.data?.total ?? 0;
  return (
    <Page
      title="Crawls & articles"
      aside={
        list.data ? (
          <span className="text-muted">
            {number(total)} {status ? "matching" : total === 1 ? "job" : "jobs"}
          </span>
        ) : null
      }
      actions={
        <CopyAs
          call={listing("List article jobs", "articles list", { ...query, kind: "articles" })}
          others={[listing("List crawls", "crawl list", { ...query, kind: "crawl" })]}
        />
      }
    >
      <SubmitForm />
      <div className="flex">
        <Segments
          label="State"
          value={status as (typeof CHOICES)[number][0]}
          choices={CHOICES}
          onChange={(to) => setStatus(to, true)}
        />
      </div>
      <DataTable
        label="Jobs"
        columns={columns}
        rows={jobs}
        rowId={rowId}
        order={order}
        onOrder={(to) => setOrder(to, true)}
        href={(job) => `/crawls/${job.job_id}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        hasMore={jobs.length < total && Number(most) < 500}
        onMore={() => setMost(String(Math.min(Number(most) + STEP, 500)))}
        fill={false}
        empty={
          status ? (
            <Empty title="No jobs in this state" actions={<Button onClick={() => setStatus("")}>Show all</Button>} />
          ) : (
            <Empty title="No jobs yet" cli="articles submit https://example.com --follow">
              Paste URLs above to fetch them now, or submit them from a shell:
            </Empty>
          )
        }
      />
    </Page>
  );
}
