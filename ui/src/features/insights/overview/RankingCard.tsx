import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ask } from "@/api/client";
import type { RankedSchedule, RankingPeriod } from "@/api/schema";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { duration, number, percent } from "@/time/moment";

const runs = (q: string | null): string => `/runs?q=${encodeURIComponent(q ?? "")}`;

/** The slowest and the most often failing schedules; every number links to the runs that it counts. */
export function RankingCard() {
  const [over, setOver] = useUrl("ranked", "24h");
  const { data, error, refetch } = useQuery({
    queryKey: ["schedules", "ranking", over],
    queryFn: ({ signal }) =>
      ask("/api/schedules/ranking", { query: { over: over as RankingPeriod, limit: 5 }, signal }),
    placeholderData: (before) => before,
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
  const choice = (
    <Segments
      label="Period"
      value={over === "7d" ? "7d" : "24h"}
      onChange={setOver}
      choices={[
        ["24h", "24 h"],
        ["7d", "7 days"],
      ]}
    />
  );
  if (error && !data) {
    return (
      <Card title="Slowest and flakiest schedules" aside={choice}>
        <ErrorCard error={error} onRetry={() => void refetch()} />
      </Card>
    );
  }
  const partly = data && !data.whole ? `newest ${number(data.runs)} runs` : null;
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card
        flush
        title="Slowest"
        aside={
          <>
            {partly ?? "p95 duration"}
            {choice}
          </>
        }
      >
        <List
          items={data?.slowest}
          empty="No runs finished in this period."
          bar={(entry) => (entry.p95_ms ?? 0) / Math.max(data?.slowest[0]?.p95_ms ?? 1, 1)}
          tone="bg-accent/70"
          figure={(entry) => (
            <>
              <Figure to={runs(entry.q.slow)} title="Runs at or above this duration">
                {duration(entry.p95_ms)}
              </Figure>
              <Figure quiet to={runs(entry.q.runs)} title="All runs in this period">
                {number(entry.runs)} {entry.runs === 1 ? "run" : "runs"}
              </Figure>
            </>
          )}
        />
      </Card>
      <Card flush title="Flakiest" aside={partly ?? "failure rate"}>
        <List
          items={data?.flakiest}
          empty="No flaky schedules: none with three or more runs both passed and failed."
          bar={(entry) => entry.failure_ratio}
          tone="bg-failed"
          figure={(entry) => (
            <>
              <Figure to={runs(entry.q.failed)} title="Failed runs">
                {percent(entry.failure_ratio)}
              </Figure>
              <Figure quiet to={runs(entry.q.runs)} title="All runs in this period">
                {number(entry.failed)} of {number(entry.runs)}
              </Figure>
            </>
          )}
        />
      </Card>
    </div>
  );
}

function List({
  items,
  empty,
  bar,
  tone,
  figure,
}: {
  items: readonly RankedSchedule[] | undefined;
  empty: string;
  bar: (entry: RankedSchedule) => number;
  tone: string;
  figure: (entry: RankedSchedule) => ReactNode;
}) {
  if (!items) {
    return (
      <div className="flex flex-col gap-3 p-4">
        <Skeleton className="h-4 w-2/3" />
        <Skeleton className="h-4 w-1/2" />
      </div>
    );
  }
  if (!items.length) return <p className="px-4 py-3 text-muted">{empty}</p>;
  return (
    <ol className="divide-y">
      {items.map((entry) => (
        <li key={entry.schedule_id} className="flex items-center gap-3 px-4 py-1.5">
          <Link to={`/schedules/${entry.schedule_id}`} className="min-w-0 flex-1 truncate hover:underline">
            {entry.name}
          </Link>
          <span className="h-1.5 w-24 shrink-0 overflow-hidden rounded-full bg-line max-md:hidden" aria-hidden>
            <span className={`block h-full ${tone}`} style={{ width: `${Math.max(100 * bar(entry), 2)}%` }} />
          </span>
          {figure(entry)}
        </li>
      ))}
    </ol>
  );
}

function Figure({ to, title, quiet, children }: { to: string; title: string; quiet?: boolean; children: ReactNode }) {
  return (
    <Link
      to={to}
      title={title}
      className={`shrink-0 text-right hover:underline ${quiet ? "w-18 text-xs text-muted" : "w-16 font-medium"}`}
    >
      {children}
    </Link>
  );
}
