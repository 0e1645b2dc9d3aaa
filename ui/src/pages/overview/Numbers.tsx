import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Page, Queue, RunCount, Series, Worker } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useMay } from "@/api/session";
import { cx } from "@/parts/cx";
import { Duration } from "@/parts/Duration";
import { Go } from "@/parts/Go";
import { Skeleton } from "@/parts/Skeleton";
import { Sparkline } from "@/parts/Sparkline";
import { duration, number, percent } from "@/time/moment";

const GOOD = ["success", "partial"] as const;
const BAD = ["failed", "dead_letter"] as const;

const sum = (counts: Partial<Record<string, number>>, names: readonly string[]): number =>
  names.reduce((total, name) => total + (counts[name] ?? 0), 0);

/** Four numbers; each is a link to the list that proves it. */
export function Numbers({ range, series, error }: { range: string; series?: Series; error: unknown }) {
  const q = `since:${range}`;
  const total = useQuery({
    queryKey: keys.runsCount({ q }),
    queryFn: ({ signal }) => ask<RunCount>("/api/runs/count", { query: { q }, signal }),
    placeholderData: (before) => before,
  });
  const counts = total.data?.by_state ?? {};
  const good = sum(counts, GOOD);
  const bad = sum(counts, BAD);
  const items = series?.items ?? [];
  const slow = items.map((one) => one.p95_ms);
  const known = slow.filter((one): one is number => one !== null);
  const peak = Math.max(...known, 0);
  const missing = Boolean(error || total.error);
  const list = `/runs?q=${encodeURIComponent(q)}`;
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-4">
      <Number title={`Runs, last ${range}`} to={list} missing={missing} value={total.data && number(total.data.count)}>
        <Sparkline values={items.map((one) => one.total)} label={`Runs over the last ${range}`} />
      </Number>
      <Number
        title="Success"
        to={`/runs?q=${encodeURIComponent(`${bad ? "state:failed,dead_letter " : ""}${q}`)}`}
        missing={missing}
        value={total.data && (good + bad ? percent(good / (good + bad)) : "–")}
        note={bad ? `${number(bad)} failed` : undefined}
      >
        <Sparkline
          values={items.map((one) => ratio(one.counts))}
          tone="success"
          label={`Share of runs that succeeded, over the last ${range}`}
        />
      </Number>
      <Number
        title="Duration now, 95th percentile"
        to={`${list}&chart=durations`}
        missing={missing}
        value={series && duration(known.at(-1))}
        note={peak ? `peak ${duration(peak)}` : undefined}
      >
        <Sparkline values={slow} tone="running" label={`95th percentile of durations, over the last ${range}`} />
      </Number>
      <Capacity />
    </div>
  );
}

function ratio(counts: Partial<Record<string, number>>): number | null {
  const [good, bad] = [sum(counts, GOOD), sum(counts, BAD)];
  return good + bad ? good / (good + bad) : null;
}

function Capacity() {
  const queues = useQuery({
    queryKey: keys.queues,
    queryFn: ({ signal }) => ask<Page<Queue>>("/api/queues", { signal }),
    refetchInterval: 10_000,
  });
  const workers = useQuery({
    queryKey: keys.workers,
    queryFn: ({ signal }) => ask<Page<Worker>>("/api/workers", { signal }),
    refetchInterval: 10_000,
    enabled: useMay("read:house"),
  });
  const waiting = queues.data?.items.reduce((total, one) => total + one.depth, 0) ?? 0;
  const oldest = queues.data?.items
    .map((one) => one.oldest)
    .filter((one): one is string => one !== null)
    .sort()[0];
  const alive = (workers.data?.items ?? []).filter((one) => one.state !== "stale" && one.slots > 0);
  const slots = alive.reduce((total, one) => total + one.slots, 0);
  const used = alive.reduce((total, one) => total + one.in_flight, 0);
  return (
    <Number
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
            <span
              role="img"
              aria-label={`${used} of ${slots} slots busy`}
              className="flex h-1.5 overflow-hidden rounded-full bg-line"
            >
              <span className={cx("bg-running")} style={{ width: `${slots ? (used / slots) * 100 : 0}%` }} />
            </span>
          </>
        ) : null}
      </div>
    </Number>
  );
}

function Number({
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
          <Go to={to} className="text-hero font-semibold hover:text-accent">
            {value}
          </Go>
        ) : missing ? (
          <span className="text-hero text-muted" title="It could not be read">
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
