import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { TimelineGrouping } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Chart } from "@/parts/chart/Chart";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { lookOf } from "@/parts/state/states";
import { useZone } from "@/prefs";
import { absolute, clock, mark, millis, number } from "@/time/moment";

import { nearestFreeMinute, startsPerMinute } from "./aggregate";
import { useTimelineRows } from "../timelineRows";
import { Gantt } from "./Gantt";
import type { Range } from "./range";

/** Rows that fit one screen; the rest is folded. */
const ROWS = 18;

/** A day or a week as a Gantt chart, with the starts per minute above it. */
export function GanttView({
  range,
  by,
  q,
  onZoom,
  onNext,
}: {
  range: Range;
  by: TimelineGrouping;
  q: string;
  onZoom: (from: number, to: number) => void;
  onNext: () => void;
}) {
  const zone = useZone();
  const query = {
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    group_by: by,
    q,
    rows: ROWS,
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: queryKeys.timeline(query),
    queryFn: ({ signal }) => ask("/api/timeline", { query, signal }),
    placeholderData: keepPreviousData,
    retry: (count, problem) => count < 2 && problem instanceof ProblemError && problem.retryable,
  });
  const [rows, toggle] = useTimelineRows(data, query);
  const workers = useQuery({
    queryKey: queryKeys.workers,
    queryFn: ({ signal }) => ask("/api/workers", { signal }),
    staleTime: 30_000,
    retry: false,
  });
  const slots = workers.data?.items.reduce((sum, one) => sum + (one.state === "live" ? one.slots : 0), 0);
  const worst = useMemo(
    () =>
      data?.collisions.reduce<{ at: string; count: number } | null>(
        (best, one) => (best === null || one.count > best.count ? one : best),
        null,
      ) ?? null,
    [data],
  );
  const quiet = useMemo(
    () =>
      data && worst && millis(worst.at) > Date.now()
        ? nearestFreeMinute(startsPerMinute(data.groups), millis(worst.at))
        : null,
    [data, worst],
  );
  const folded = data?.groups.filter((group) => group.folded) ?? [];
  if (error && !data)
    return error instanceof ProblemError && error.about("q") ? null : (
      <ErrorCard error={error} what="Could not load the timeline" onRetry={() => void refetch()} />
    );
  if (!data) return <Skeleton className="h-96 w-full" />;
  return (
    <Chart
      title={`Past and planned runs (${mark(range.from, zone)})`}
      aside={<span className="hidden sm:inline">drag above the rows to zoom in</span>}
      head={["Row", "At", "State", "Count"]}
      rows={() =>
        rows.flatMap((group) =>
          group.marks.map((mark) => [
            group.name || "without a schedule",
            absolute(mark.at, zone, Date.now(), "second"),
            lookOf(mark.state).label,
            number(mark.count),
          ]),
        )
      }
    >
      <div className={isPlaceholderData ? "opacity-50" : undefined}>
        {rows.length ? (
          <Gantt timeline={data} rows={rows} by={by} onZoom={onZoom} onToggle={toggle} />
        ) : (
          <Empty title="No runs in this range" actions={<Button onClick={onNext}>Jump to the next run</Button>}>
            {q ? "The filter may be hiding results." : "Nothing ran and nothing is scheduled."}
          </Empty>
        )}
        <div className="flex flex-col gap-1 pt-3 text-xs text-muted">
          {worst ? (
            <p>
              Busiest moment: {number(worst.count)} start at {clock(worst.at, zone)} {mark(millis(worst.at), zone)}
              {slots ? `; workers can run ${number(slots)} at a time` : ""}.
              {quiet ? ` Nothing starts at ${clock(quiet, zone)}.` : ""}
            </p>
          ) : null}
          {folded.length ? (
            <p>
              {number(folded.reduce((sum, group) => sum + group.runs + group.planned, 0))} runs and scheduled times of{" "}
              {number(folded.length)} frequent {folded.length === 1 ? "row" : "rows"} are shown as density.
            </p>
          ) : null}
          {data.dropped_groups ? <p>{number(data.dropped_groups)} more rows – filter to see them.</p> : null}
          {data.complete ? null : (
            <p>Only the newest missed and skipped times are shown. Choose a shorter range to see all.</p>
          )}
          {data.sampled ? <p>Counts of frequent states are estimates from a sample of the runs.</p> : null}
        </div>
      </div>
    </Chart>
  );
}
