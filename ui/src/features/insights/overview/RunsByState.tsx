import { useMemo } from "react";

import type { RunSeries } from "@/api/schema";
import { narrowTo } from "@/features/filters/span";
import { Chart } from "@/parts/chart/Chart";
import { Legend, StackedBars } from "@/parts/chart/StackedBars";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { STACK } from "@/parts/state/states";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { absolute, duration, mark, millis, number } from "@/time/moment";

export const RANGES = [
  ["1h", "1 h"],
  ["6h", "6 h"],
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const;

/** Stacked by state over the chosen range; a bar opens the runs that it counts. */
export function RunsByState({
  range,
  onRange,
  series,
  error,
  onRetry,
}: {
  range: string;
  onRange: (range: string) => void;
  series?: RunSeries;
  error: unknown;
  onRetry: () => void;
}) {
  const zone = useZone();
  const go = useNavigateTo();
  const bars = useMemo(
    () => (series?.items ?? []).map((item) => ({ at: millis(item.at), counts: item.counts, total: item.total })),
    [series],
  );
  const bucket = (series?.bucket_seconds ?? 900) * 1000;
  const title = `Runs per ${duration(bucket)} by state`;
  const open = (from: number, to: number): void => go(`/runs?q=${encodeURIComponent(narrowTo("", from, to))}`);
  return (
    <Chart
      title={`${title} (${mark(Date.now(), zone)})`}
      aside={<Segments label="Range" value={range} onChange={onRange} choices={RANGES} />}
      head={["From", "Runs", ...STACK.map((state) => state.replace("_", " "))]}
      rows={() =>
        (series?.items ?? [])
          .filter((item) => item.total)
          .map((bar) => [
            absolute(bar.at, zone, Date.now()),
            number(bar.total),
            ...STACK.map((state) => number(bar.counts[state] ?? 0)),
          ])
      }
    >
      {error && !series ? (
        <ErrorCard error={error} what="Could not load counts" onRetry={onRetry} />
      ) : !series ? (
        <Skeleton className="h-[160px] w-full" />
      ) : (
        <>
          <StackedBars bars={bars} bucketMs={bucket} height={150} label={title} onOpen={open} onBrush={open} />
          <Legend bars={bars} />
        </>
      )}
    </Chart>
  );
}
