import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ask } from "@/api/client";
import type { InstantPage, ScheduleInstant, Run, Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Glossary } from "@/parts/Glossary";
import { SkeletonRows } from "@/parts/Skeleton";
import { useZone } from "@/prefs";
import { day, mark, millis } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { groupInstants, spanFor } from "./instantGroups";
import { InstantRow } from "./InstantRow";

const WANTED = 60;
const MOST_PAGES = 4;
/** Rows shown at first, and how many more at a time. */
const ROWS = 20;

async function instantsOf(id: string, from: number, to: number, signal: AbortSignal): Promise<ScheduleInstant[]> {
  const found: ScheduleInstant[] = [];
  let cursor: string | null = null;
  for (let turn = 0; turn < MOST_PAGES; turn += 1) {
    const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const page: InstantPage = await ask("/api/schedules/{schedule_id}/instants", {
      params: { schedule_id: id },
      query: { ...span, limit: 500, cursor },
      signal,
    });
    found.push(...page.items);
    cursor = page.next_cursor;
    if (!cursor) break;
  }
  return found;
}

/** The ledger of a schedule: every instant with its outcome and reason, also those without a run. */
export function InstantsTab({
  schedule,
  next,
  runs,
}: {
  schedule: Schedule;
  next: readonly string[];
  runs: readonly Run[];
}) {
  const zone = useZone();
  const now = useNow(1000);
  const stretch = spanFor(next, WANTED);
  // The newest span ends after the next two instants, so that planned ones are visible.
  const ahead = Math.min(Math.max(stretch / 20, 5000), 3 * 86_400_000);
  const born = millis(schedule.created_at);
  const list = useInfiniteQuery({
    queryKey: ["runs", "instants", schedule.id, Math.round(stretch / 60_000)],
    queryFn: async ({ pageParam, signal }) => {
      const to = pageParam ?? Date.now() + ahead;
      const from = Math.max(to - stretch, Math.min(born, to) - 1000);
      return { from, items: await instantsOf(schedule.id, from, to, signal) };
    },
    initialPageParam: null as number | null,
    getNextPageParam: (page) => (page.from <= born ? null : page.from),
    retry: false,
  });
  const [rows, setRows] = useState(ROWS);
  const byId = useMemo(() => new Map(runs.map((run) => [run.id, run])), [runs]);
  const ticks = useMemo(
    () =>
      groupInstants(
        [...(list.data?.pages ?? [])].reverse().flatMap((page) => page.items),
        now,
      ),
    [list.data, now],
  );
  const planned = ticks.filter((tick) => tick.first.outcome === "planned");
  const past = ticks.filter((tick) => tick.first.outcome !== "planned");
  if (list.isPending) return <SkeletonRows rows={6} />;
  if (list.error && !ticks.length)
    return <ErrorCard error={list.error} what="Could not load scheduled times" onRetry={() => void list.refetch()} />;
  if (!ticks.length)
    return (
      <Empty title="Not run yet">
        Every scheduled time is listed here with its outcome, including those that did not run.
      </Empty>
    );
  const all = [...planned.slice(-2), ...past];
  const shown = all.slice(0, rows);
  // A schedule that fires at most once a day needs no date headings: its rows have dates.
  const dated = new Set(shown.map((tick) => day(tick.last.at, zone, now))).size > shown.length * 0.6;
  let before = "";
  // One sentence for one fact: the state above the list names the newest error, and here only another is written.
  const OPEN = ["queued", "running", "retrying", "cancelled"];
  let lastError = runs.find((run) => !OPEN.includes(run.state))?.error?.message;
  return (
    <div className="rounded-lg border">
      <div className="flex items-center rounded-t-lg border-b bg-surface px-3 py-1.5 text-xs font-medium text-muted">
        <span className={dated ? "w-44 shrink-0" : "w-28 shrink-0"}>Scheduled ({mark(now, zone)})</span>
        <span>
          Outcome <Glossary term="ledger" />
        </span>
      </div>
      <ul>
        {shown.map((tick) => {
          const date = day(tick.last.at, zone, now);
          const fresh = date !== before && !dated;
          before = date;
          const run = tick.first.run_id ? byId.get(tick.first.run_id) : undefined;
          const repeated = run?.error !== undefined && run.error !== null && run.error.message === lastError;
          if (run) lastError = run.error?.message;
          return (
            <li key={tick.first.at} className="border-b border-line/70 last:border-b-0">
              {fresh ? <p className="bg-surface px-3 py-1 text-xs text-muted">{date}</p> : null}
              <InstantRow tick={tick} dated={dated} zone={zone} run={run} repeated={repeated} now={now} />
            </li>
          );
        })}
      </ul>
      {list.hasNextPage || all.length > shown.length ? (
        <div className="border-t p-2 text-center">
          <Button
            size="small"
            kind="quiet"
            busy={list.isFetchingNextPage}
            onClick={() => {
              setRows(rows + 3 * ROWS);
              if (list.hasNextPage && all.length < rows + 3 * ROWS) void list.fetchNextPage();
            }}
          >
            Show earlier
          </Button>
        </div>
      ) : (
        <p className="border-t px-3 py-2 text-center text-xs text-muted">
          End of history: created {day(schedule.created_at, zone, now)}.
        </p>
      )}
    </div>
  );
}
