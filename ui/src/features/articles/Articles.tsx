import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { ArticleResult, FailedArticle, JobReport } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Segments } from "@/parts/Segments";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { ArticleChanges } from "./ArticleChanges";
import { countByHost } from "./hosts";

const STEP = 100;

interface Row {
  url: string;
  read: ArticleResult | null;
  failed: FailedArticle | null;
}

const rowId = (row: Row): string => row.url;

function pathOf(url: string): string {
  const { pathname, search } = URL.canParse(url) ? new URL(url) : { pathname: url, search: "" };
  return `${pathname}${search}`;
}

/** The articles of a batch: those that were read, and those that failed. */
export function Articles({ job }: { job: JobReport }) {
  const [outcome, setOutcome] = useUrl("outcome");
  const [most, setMost] = useState(STEP);
  const [reading, setReading] = useState<ArticleResult | null>(null);
  const results = useQuery({
    queryKey: [...queryKeys.run(job.job_id), "results", most],
    queryFn: ({ signal }) =>
      ask("/jobs/{job_id}/results", { params: { job_id: job.job_id }, query: { limit: most }, signal }),
    refetchInterval: job.finished_at ? false : 2000,
    placeholderData: (before) => before,
  });
  const batch = results.data && "results" in results.data ? results.data : undefined;
  const read = batch?.results ?? [];
  const failed = batch?.failed_articles ?? [];
  const domains = useMemo(() => countByHost(read, failed), [read, failed]);
  const rows = useMemo<Row[]>(() => {
    const bad = failed.map((one) => ({ url: one.url, read: null, failed: one }));
    const good = read
      .filter((one) => outcome !== "cached" || one.cached)
      .map((one) => ({ url: one.url, read: one, failed: null }));
    return outcome === "failed" ? bad : outcome ? good : [...bad, ...good];
  }, [read, failed, outcome]);
  // One host is named in the heading.
  const one = domains.length === 1;
  const columns = useMemo<Column<Row>[]>(
    () => [
      {
        id: "state",
        header: "State",
        width: "96px",
        card: "side",
        cell: (row) => <StateBadge state={row.failed ? "failed" : row.read?.cached ? "cached" : "success"} />,
      },
      {
        id: "title",
        header: "Title",
        width: "minmax(180px, 2fr)",
        card: "lead",
        cell: (row) => (
          <span className="flex min-w-0 items-baseline gap-2">
            <span className="truncate">{row.read?.title ?? row.failed?.error ?? "–"}</span>
            {row.read?.previous_scraped_at ? (
              <span className="shrink-0 text-xs text-muted" title="The text changed. Open it to see the difference.">
                changed
              </span>
            ) : null}
          </span>
        ),
      },
      {
        id: "url",
        header: "URL",
        width: "minmax(180px, 2fr)",
        card: "meta",
        cell: (row) => (
          <span className="truncate font-mono text-xs text-muted" title={row.url}>
            {one ? pathOf(row.url) : row.url.replace(/^https?:\/\//, "")}
          </span>
        ),
      },
      {
        id: "source",
        header: "Source",
        width: "120px",
        card: "none",
        cell: (row) => <span className="truncate">{row.read?.source || "–"}</span>,
      },
      { id: "language", header: "Language", width: "80px", card: "none", cell: (row) => row.read?.language ?? "–" },
      {
        id: "at",
        header: "Fetched",
        width: "120px",
        card: "none",
        cell: (row) => <Instant at={row.read?.scraped_at ?? row.failed?.attempted_at} />,
      },
    ],
    [one],
  );
  const most_pages = Math.max(...domains.map((domain) => domain.read + domain.failed), 1);
  return (
    <>
      {domains.length > 1 ? (
        <Card title="By host">
          <ul className="flex flex-col gap-2">
            {domains.slice(0, 12).map((domain) => (
              <li key={domain.host} className="flex items-center gap-3 text-sm">
                <span className="w-48 min-w-0 truncate font-mono text-xs">{domain.host}</span>
                <span aria-hidden className="flex h-2 flex-1">
                  <span
                    className="rounded-l-full bg-success"
                    style={{ width: `${(100 * domain.read) / most_pages}%` }}
                  />
                  <span
                    className="rounded-r-full bg-failed"
                    style={{ width: `${(100 * domain.failed) / most_pages}%` }}
                  />
                </span>
                <span className="w-40 text-right text-xs text-muted">
                  {number(domain.read)} read{domain.failed ? `, ${number(domain.failed)} failed` : ""}
                </span>
              </li>
            ))}
          </ul>
        </Card>
      ) : null}
      <div className="flex">
        <Segments
          label="Outcome"
          value={outcome}
          onChange={setOutcome}
          choices={[
            ["", `All ${number(job.total_articles ?? 0)}`],
            ["failed", `Failed ${number(job.failed ?? 0)}`],
            ["cached", `Cached ${number(job.cached ?? 0)}`],
          ]}
        />
      </div>
      <DataTable
        label="Articles"
        columns={columns}
        rows={rows}
        rowId={rowId}
        onOpen={(row) => row.read && setReading(row.read)}
        loading={results.isPending}
        error={results.error}
        onRetry={() => void results.refetch()}
        hasMore={read.length < (batch?.successful ?? 0) && most < 500}
        onMore={() => setMost(Math.min(most + STEP, 500))}
        fill={false}
        empty={
          <Empty title={outcome ? "None" : "Nothing yet"}>
            {outcome ? null : "Articles appear here as they are fetched."}
          </Empty>
        }
      />
      <Modal open={reading !== null} onClose={() => setReading(null)} title={reading?.title ?? "Untitled"} wide>
        {reading ? <Reader job={job.job_id} article={reading} /> : null}
      </Modal>
    </>
  );
}

function Reader({ job, article }: { job: string; article: ArticleResult }) {
  const [whole, setWhole] = useState(false);
  const [changes, setChanges] = useState(false);
  const text = article.content ?? "";
  return (
    <article className="flex flex-col gap-3">
      <p className="text-xs text-muted">
        {[article.author, article.published_at, article.language].filter(Boolean).join(" · ")}
        {" · "}
        <a href={article.url} rel="noreferrer noopener" target="_blank" className="break-all underline hover:text-ink">
          {article.url}
        </a>
      </p>
      {article.previous_scraped_at ? (
        <div>
          <Button size="small" aria-pressed={changes} onClick={() => setChanges(!changes)}>
            <span>
              Changes since <Instant at={article.previous_scraped_at} as="short" />
            </span>
          </Button>
        </div>
      ) : null}
      {changes ? (
        <ArticleChanges job={job} article={article.article_id} />
      ) : (
        <div className="max-w-[72ch] text-base break-words whitespace-pre-wrap">
          {whole ? text : text.slice(0, 5000)}
        </div>
      )}
      {text.length > 5000 && !whole && !changes ? (
        <div>
          <Button size="small" onClick={() => setWhole(true)}>
            Show all
          </Button>
        </div>
      ) : null}
    </article>
  );
}
