import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { momentOf } from "@/features/filters/span";
import { Page } from "@/parts/Page";
import { useUrl } from "@/parts/useUrl";

import { AttentionCard } from "./overview/AttentionCard";
import { FirstSteps } from "./overview/FirstSteps";
import { KeyFigures } from "./overview/KeyFigures";
import { RankingCard } from "./overview/RankingCard";
import { RunList } from "./overview/RunList";
import { RunsByState } from "./overview/RunsByState";
import { TimelineCard } from "./overview/TimelineCard";

/** What needs attention, what runs now and what is planned next. */
export default function OverviewPage() {
  const [range, setRange] = useUrl("range", "24h");
  // Rounded to the minute, so that the query key stays the same.
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const query = useMemo(() => {
    const to = minute + 60_000;
    return { from: new Date(momentOf(range, to) ?? to - 86_400_000).toISOString(), to: new Date(to).toISOString() };
  }, [range, minute]);
  const series = useQuery({
    queryKey: queryKeys.runsSeries(query),
    queryFn: ({ signal }) => ask("/api/runs/series", { query, signal }),
    placeholderData: (before) => before,
  });
  const schedules = useQuery({
    queryKey: ["schedules", "any"],
    queryFn: ({ signal }) => ask("/api/schedules", { query: { limit: 1 }, signal }),
  });
  const runs = useQuery({
    queryKey: queryKeys.runsCount({ q: "" }),
    queryFn: ({ signal }) => ask("/api/runs/count", { signal }),
    enabled: schedules.data?.items.length === 0,
  });
  const nothing = schedules.data?.items.length === 0 && runs.data?.count === 0;
  return (
    <Page title="Overview">
      {nothing ? (
        <FirstSteps />
      ) : (
        <>
          <AttentionCard />
          <TimelineCard />
          <KeyFigures range={range} series={series.data} error={series.error} />
          <RunsByState
            range={range}
            onRange={setRange}
            series={series.data}
            error={series.error}
            onRetry={() => void series.refetch()}
          />
          <RankingCard />
          <div className="grid gap-4 lg:grid-cols-2">
            <RunList title="Running now" q="state:running,retrying" empty="Nothing is running." />
            <RunList
              title="Recent failures"
              q="state:failed,dead_letter since:24h"
              empty="No failures in the last 24 hours."
            />
          </div>
        </>
      )}
    </Page>
  );
}
