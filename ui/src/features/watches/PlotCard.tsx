import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { WatchDetail } from "@/api/schema";
import { Chart } from "@/parts/chart/Chart";
import { useZone } from "@/prefs";
import { absolute, number } from "@/time/moment";

import { StepPlot } from "./StepPlot";
import { linesOf } from "./values";

/** The fields of a watch that are numbers or prices. */
export const numericFields = (watch: WatchDetail): string[] =>
  Object.entries(watch.fields as Record<string, { type?: string }>)
    .filter(([, wanted]) => wanted.type === "number" || wanted.type === "price")
    .map(([name]) => name);

/** A numeric field of the pages that changed last, or of one page. */
export function PlotCard({ watch, page }: { watch: WatchDetail; page?: string }) {
  const fields = numericFields(watch);
  const [chosen, choose] = useState(fields[0] ?? "");
  const field = fields.includes(chosen) ? chosen : (fields[0] ?? "");
  const zone = useZone();
  const plot = useQuery({
    queryKey: queryKeys.watchPlot(watch.id, field, page ?? ""),
    queryFn: ({ signal }) =>
      ask("/api/watches/{watch_id}/plot", {
        params: { watch_id: watch.id },
        query: page ? { field, page } : { field, pages: 8 },
        signal,
      }),
    enabled: field !== "",
    refetchInterval: 10_000,
  });
  if (!field || !plot.data) return null;
  if (!plot.data.pages.length) return null;
  const lines = linesOf(plot.data);
  const unit = plot.data.unit;
  return (
    <Chart
      title={unit ? `${field} (${unit})` : field}
      aside={
        fields.length > 1 ? (
          <select
            aria-label="Field"
            value={field}
            onChange={(event) => choose(event.target.value)}
            className="h-6 rounded border bg-bg px-1"
          >
            {fields.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : null
      }
      head={["Page", "From", unit ? `${field} (${unit})` : field]}
      rows={() =>
        lines.flatMap((line) =>
          line.points.map(({ at, value }): (string | number)[] => [
            line.label,
            absolute(at, zone, at),
            value === null ? "–" : number(value),
          ]),
        )
      }
    >
      <StepPlot lines={lines} label={`${field} over time`} unit={unit} />
    </Chart>
  );
}
