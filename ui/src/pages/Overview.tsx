import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Page as Listed, RunCount, Schedule, Series } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { Page } from "@/parts/Page";
import { useUrl } from "@/parts/useUrl";
import { momentOf } from "@/words/span";

import { AttentionCard } from "./overview/AttentionCard";
import { Nothing } from "./overview/Nothing";
import { Numbers } from "./overview/Numbers";
import { Ranking } from "./overview/Ranking";
import { RunList } from "./overview/RunList";
import { RunsByState } from "./overview/RunsByState";
import { TimeRuler } from "./overview/TimeRuler";

/** In five seconds: is all well, and what happens next? */
export default function Overview() {
  const [range, setRange] = useUrl("range", "24h");
  // Rounded, so that the same minute asks the same question.
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const query = useMemo(() => {
    const to = minute + 60_000;
    return { from: new Date(momentOf(range, to) ?? to - 86_400_000).toISOString(), to: new Date(to).toISOString() };
  }, [range, minute]);
  const series = useQuery({
    queryKey: keys.runsSeries(query),
    queryFn: ({ signal }) => ask<Series>("/api/runs/series", { query, signal }),
    placeholderData: (before) => before,
  });
  const schedules = useQuery({
    queryKey: ["schedules", "any"],
    queryFn: ({ signal }) => ask<Listed<Schedule>>("/api/schedules", { query: { limit: 1 }, signal }),
  });
  const runs = useQuery({
    queryKey: keys.runsCount({ q: "" }),
    queryFn: ({ signal }) => ask<RunCount>("/api/runs/count", { signal }),
    enabled: schedules.data?.items.length === 0,
  });
  const nothing = schedules.data?.items.length === 0 && runs.data?.count === 0;
  return (
    <Page title="Overview">
      {nothing ? (
        <Nothing />
      ) : (
        <>
          <AttentionCard />
          <TimeRuler />
          <Numbers range={range} series={series.data} error={series.error} />
          <RunsByState
            range={range}
            onRange={setRange}
            series={series.data}
            error={series.error}
            onRetry={() => void series.refetch()}
          />
          <Ranking />
          <div className="grid gap-4 lg:grid-cols-2">
            <RunList title="Running now" q="state:running,retrying" empty="Nothing runs at this moment." />
            <RunList
              title="Failed last"
              q="state:failed,dead_letter since:24h"
              empty="Nothing failed in the last 24 hours."
            />
          </div>
        </>
      )}
    </Page>
  );
}
