import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { RunPoints, RunSeries } from "@/api/schema";
import { valueOf, withKey } from "@/features/filters/grammar";
import { narrowTo, spanOf } from "@/features/filters/span";
import { Button } from "@/parts/Button";
import { Chart } from "@/parts/chart/Chart";
import { StackedBars } from "@/parts/chart/StackedBars";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { lookOf } from "@/parts/state/states";
import { useKeys } from "@/parts/useKeys";
import { useNavigateTo, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { absolute, duration, mark, millis, number } from "@/time/moment";

import { DurationChart } from "./DurationChart";
import { indicesByTime } from "./points";
import { RunScatter } from "./RunScatter";

const HEIGHT = 48;
/** Rows of "View as table"; the list below has all of them. */
const MOST_ROWS = 500;

/** Charts of the runs that match the list's filter; a bar or a drawn span narrows it. */
export function RunsChart({ q, onChange, wait }: { q: string; onChange: (q: string) => void; wait: boolean }) {
  const zone = useZone();
  const go = useNavigateTo();
  const [picture, setPicture] = useUrl("chart", "bars");
  const single = picture === "runs";
  // Aligned to the minute, so that typing and rendering do not change the query key.
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const query = useMemo(() => {
    const span = spanOf(q, minute + 60_000);
    return { q, from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  }, [q, minute]);
  const series = useQuery({
    queryKey: queryKeys.runsSeries(query),
    queryFn: ({ signal }) => ask("/api/runs/series", { query, signal }),
    placeholderData: (before) => before,
    enabled: !wait && !single,
  });
  const scatter = useQuery({
    queryKey: queryKeys.runsPoints(query),
    queryFn: ({ signal }) => ask("/api/runs/points", { query, signal }),
    placeholderData: (before) => before,
    enabled: !wait && single,
  });
  const { data } = series;
  const points = scatter.data;
  const { error, refetch } = single ? scatter : series;
  const bars = useMemo(
    () => (data?.items ?? []).map((item) => ({ at: millis(item.at), counts: item.counts, total: item.total })),
    [data],
  );
  const bucket = (data?.bucket_seconds ?? 900) * 1000;
  const unit = duration(bucket);
  const narrow = (from: number, to: number): void => onChange(narrowTo(q, from, to));
  const title = single
    ? "Duration of each run"
    : picture === "bars"
      ? `Runs per ${unit} by state`
      : `Duration per ${unit}: median and p95`;
  const zoomed = valueOf(q, "until") !== null;
  const reset = (): void => onChange(withKey(withKey(q, "since", null), "until", null));
  useKeys({ escape: zoomed ? reset : undefined });
  return (
    <Chart
      title={title}
      aside={
        <>
          {zoomed ? (
            <Button size="small" kind="quiet" hotkey="esc" onClick={reset}>
              Reset zoom
            </Button>
          ) : null}
          <span className="max-lg:hidden">{mark(Date.now(), zone)} · drag to zoom</span>
          <Segments
            label="Chart"
            value={picture}
            onChange={setPicture}
            choices={[
              ["bars", "Counts"],
              ["runs", "Runs"],
              ["durations", "Durations"],
            ]}
          />
        </>
      }
      head={single ? ["Created", "Run", "State", "Duration"] : ["From", "Runs", "Failed", "Median", "p95", "Late"]}
      rows={() => (single ? rowsOf(points, zone) : bucketsOf(data, zone))}
    >
      {/* The same height while loading as afterwards, legend included: the list below must not move. */}
      <div className="min-h-[52px]">
        {error && !(single ? points : data) ? (
          <ErrorCard error={error} what="Could not load the chart" onRetry={() => void refetch()} />
        ) : single ? (
          points ? (
            <RunScatter points={points} height={2 * HEIGHT} onOpen={(id) => go(`/runs/${id}`)} onBrush={narrow} />
          ) : (
            <Skeleton className="h-[52px] w-full" />
          )
        ) : !data ? (
          <Skeleton className="h-[52px] w-full" />
        ) : picture === "bars" ? (
          <StackedBars
            bars={bars}
            bucketMs={bucket}
            height={HEIGHT}
            label={`Runs per ${unit} by state`}
            onOpen={narrow}
            onBrush={narrow}
          />
        ) : (
          <>
            <DurationChart items={data.items} bucketMs={bucket} height={2 * HEIGHT} />
            {data.timed < 1 ? (
              <p className="text-xs text-muted">
                Sampled: durations of one run in {number(Math.round(1 / data.timed))}, chosen at random.
              </p>
            ) : null}
          </>
        )}
      </div>
    </Chart>
  );
}

const bucketsOf = (series: RunSeries | undefined, zone: string): string[][] =>
  (series?.items ?? [])
    .filter((item) => item.total)
    .map((bucket) => [
      absolute(bucket.at, zone, Date.now()),
      number(bucket.total),
      number((bucket.counts.failed ?? 0) + (bucket.counts.dead_letter ?? 0)),
      duration(bucket.p50_ms),
      duration(bucket.p95_ms),
      number(bucket.late),
    ]);

/** The newest points. */
const rowsOf = (points: RunPoints | undefined, zone: string): string[][] =>
  points
    ? indicesByTime(points)
        .slice(-MOST_ROWS)
        .reverse()
        .map((index) => [
          absolute(millis(points.from) + (points.at_ms[index] as number), zone, Date.now(), "second"),
          points.id[index] as string,
          lookOf(points.states[points.state[index] as number] as string).label,
          duration(points.took_ms[index]),
        ])
    : [];
