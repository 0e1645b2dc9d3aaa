import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { RunSeries } from "@/api/schema";
import { usePermission } from "@/api/session";
import { useKeptHistory } from "@/features/queues/useQueueHistory";
import { Sparkline } from "@/parts/chart/Sparkline";
import { Duration } from "@/parts/Duration";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { duration, number, percent } from "@/time/moment";

const BAD = ["failed", "dead_letter"] as const;
/** Runs that finished; only `success` counts as one. */
const JUDGED = ["success", "partial", "degraded", ...BAD] as const;

const sum = (counts: Partial<Record<string, number>>, names: readonly string[]): number =>
  names.reduce((total, name) => total + (counts[name] ?? 0), 0);

/** Four figures; each links to the list that it counts. */
export function KeyFigures({ range, series, error }: { range: string; series?: RunSeries; error: unknown }) {
  const q = `since:${range}`;
  const total = useQuery({
    queryKey: queryKeys.runsCount({ q }),
    queryFn: ({ signal }) => ask("/api/runs/count", { query: { q }, signal }),
    placeholderData: (before) => before,
  });
  const counts = total.data?.by_state ?? {};
  const bad = sum(counts, BAD);
  const short = [
    bad ? `${number(bad)} failed` : "",
    ...(["partial", "degraded"] as const).map((state) => (counts[state] ? `${number(counts[state])} ${state}` : "")),
  ].filter(Boolean);
  const items = series?.items ?? [];
  const slow = items.map((item) => item.p95_ms);
  const known = slow.filter((one): one is number => one !== null);
  const peak = Math.max(...known, 0);
  const missing = Boolean(error || total.error);
  const list = `/runs?q=${encodeURIComponent(q)}`;
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-4">
      <Figure title={`Runs, last ${range}`} to={list} missing={missing} value={total.data && number(total.data.count)}>
        <Sparkline scale={number} values={items.map((item) => item.total)} label={`Runs over the last ${range}`} />
      </Figure>
      <Figure
        title="Success"
        to={`/runs?q=${encodeURIComponent(`${short.length ? "state:partial,degraded,failed,dead_letter " : ""}${q}`)}`}
        missing={missing}
        value={total.data && percent(ratio(counts))}
        note={short.join(", ") || undefined}
      >
        <Sparkline
          values={items.map((item) => ratio(item.counts))}
          tone="success"
          scale={percent}
          label={`Share of runs that succeeded, over the last ${range}`}
        />
      </Figure>
      <Figure
        title="p95 duration"
        to={`${list}&chart=durations`}
        missing={missing}
        value={series && duration(known.at(-1))}
        note={peak ? `peak ${duration(peak)}` : undefined}
      >
        <Sparkline scale={duration} values={slow} tone="running" label={`p95 duration over the last ${range}`} />
      </Figure>
      <Capacity />
    </div>
  );
}

function ratio(counts: Partial<Record<string, number>>): number | null {
  const judged = sum(counts, JUDGED);
  return judged ? (counts.success ?? 0) / judged : null;
}

function Capacity() {
  const mayReadSystem = usePermission("read:house");
  const queues = useQuery({
    queryKey: queryKeys.queues,
    queryFn: ({ signal }) => ask("/api/queues", { signal }),
    refetchInterval: 10_000,
  });
  const workers = useQuery({
    queryKey: queryKeys.workers,
    queryFn: ({ signal }) => ask("/api/workers", { signal }),
    refetchInterval: 10_000,
    enabled: mayReadSystem,
  });
  const kept = useKeptHistory("24h", mayReadSystem);
  const waiting = queues.data?.items.reduce((total, one) => total + one.depth, 0) ?? 0;
  const oldest = queues.data?.items
    .map((item) => item.oldest)
    .filter((one): one is string => one !== null)
    .sort()[0];
  const alive = (workers.data?.items ?? []).filter((item) => item.state !== "stale" && item.slots > 0);
  const slots = alive.reduce((total, one) => total + one.slots, 0);
  const used = alive.reduce((total, one) => total + one.in_flight, 0);
  return (
    <Figure
      title="Oldest queued"
      to="/queues"
      missing={Boolean(queues.error)}
      value={queues.data && (oldest ? <Duration since={oldest} /> : "none")}
      note={waiting ? `${number(waiting)} waiting` : undefined}
    >
      <div className="flex h-7 flex-col justify-end gap-1">
        {workers.data ? (
          <>
            <span className="text-xs text-muted">
              {number(alive.length)} {alive.length === 1 ? "worker" : "workers"} · {number(used)} of {number(slots)}{" "}
              slots busy
            </span>
            <Sparkline
              values={kept.data?.busy ?? []}
              tone="running"
              height={12}
              label={`Busy slots over the last 24 hours; ${used} of ${slots} are busy now`}
            />
          </>
        ) : null}
      </div>
    </Figure>
  );
}

function Figure({
  title,
  value,
  note,
  to,
  missing,
  children,
}: {
  title: string;
  value: ReactNode;
  note?: string;
  to: string;
  missing: boolean;
  children: ReactNode;
}) {
  return (
    <section className="min-w-0 rounded-lg border p-4">
      <h2 className="text-xs text-muted">{title}</h2>
      <div className="mb-2 flex items-baseline gap-2">
        {value !== undefined ? (
          <Link to={to} className="text-hero font-semibold hover:text-accent">
            {value}
          </Link>
        ) : missing ? (
          <span className="text-hero text-muted" title="Could not load">
            –
          </span>
        ) : (
          <Skeleton className="my-1.5 h-6 w-20" />
        )}
        {note ? <span className="text-xs text-muted">{note}</span> : null}
      </div>
      {children}
    </section>
  );
}
