import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Series } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Chart } from "@/parts/Chart";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { Legend, StackedBars } from "@/parts/StackedBars";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { absolute, duration, mark, millis, number } from "@/time/moment";
import { narrowed, spanOf } from "@/words/span";

import { Durations } from "./Durations";
import { Segments } from "@/parts/Segments";

/** Runs over time, for the same filter as the list below: a bar or a drawn span narrows it. */
export function RunsChart({ q, onChange, wait }: { q: string; onChange: (q: string) => void; wait: boolean }) {
  const zone = useZone();
  const [picture, setPicture] = useUrl("chart", "bars");
  // Aligned to the minute, so that typing and rendering do not ask anew.
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const query = useMemo(() => {
    const span = spanOf(q, minute + 60_000);
    return { q, from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  }, [q, minute]);
  const { data, error, refetch } = useQuery({
    queryKey: keys.runsSeries(query),
    queryFn: ({ signal }) => ask<Series>("/api/runs/series", { query, signal }),
    placeholderData: (before) => before,
    enabled: !wait,
  });
  const bars = useMemo(
    () => (data?.items ?? []).map((one) => ({ at: millis(one.at), counts: one.counts, total: one.total })),
    [data],
  );
  const bucket = (data?.bucket_seconds ?? 900) * 1000;
  const unit = duration(bucket);
  return (
    <Chart
      title={picture === "bars" ? `Runs per ${unit} by state` : `Duration per ${unit}: median and 95th percentile`}
      aside={
        <>
          <span className="max-md:hidden">{mark(Date.now(), zone)} · drag to zoom</span>
          <Segments
            label="Picture"
            value={picture}
            onChange={setPicture}
            choices={[
              ["bars", "Counts"],
              ["durations", "Durations"],
            ]}
          />
        </>
      }
      head={["From", "Runs", "Failed", "Median", "95th percentile", "Late"]}
      rows={() =>
        (data?.items ?? [])
          .filter((one) => one.total)
          .map((one) => [
            absolute(one.at, zone, Date.now()),
            number(one.total),
            number((one.counts.failed ?? 0) + (one.counts.dead_letter ?? 0)),
            duration(one.p50_ms),
            duration(one.p95_ms),
            number(one.late),
          ])
      }
    >
      {error && !data ? (
        <ErrorCard error={error} what="The counts could not be read" onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-[120px] w-full" />
      ) : picture === "bars" ? (
        <>
          <StackedBars
            bars={bars}
            bucketMs={bucket}
            height={120}
            label={`Runs per ${unit} by state`}
            onOpen={(from, to) => onChange(narrowed(q, from, to))}
            onBrush={(from, to) => onChange(narrowed(q, from, to))}
          />
          <Legend bars={bars} />
        </>
      ) : (
        <Durations items={data.items} bucketMs={bucket} height={140} />
      )}
    </Chart>
  );
}
