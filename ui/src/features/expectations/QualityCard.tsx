import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { QualityRun } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Link } from "@/parts/Link";
import { fill } from "@/parts/state/states";
import { number } from "@/time/moment";

const WIDTH = 600;
const HEIGHT = 90;

/** Items of the newest runs of a schedule, with the range of the baseline; nothing for one without facts. */
export function QualityCard({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: queryKeys.quality(id),
    queryFn: ({ signal }) => ask("/api/schedules/{schedule_id}/quality", { params: { schedule_id: id }, signal }),
  });
  const runs = (data?.items ?? []).filter((run) => run.facts).reverse();
  if (!data || !runs.length) return null;
  const newest = runs[runs.length - 1]!;
  return (
    <Card
      title="Data quality"
      aside={
        data.baseline
          ? `usually ${number(data.baseline.median)} items (${number(data.baseline.low)} to ${number(data.baseline.high)})`
          : `no baseline yet: ${data.good_runs} of 5 good runs`
      }
    >
      <ItemsChart runs={runs} band={data.baseline} />
      <dl className="mt-2 flex flex-wrap gap-x-6 gap-y-1 text-sm">
        <Fact name="items, last run" value={number(newest.facts!.items)} />
        <Fact name="errors" value={number(newest.facts!.errors)} />
        {Object.entries(newest.facts!.coverage).map(([name, share]) => (
          <Fact key={name} name={name} value={`${share}%`} />
        ))}
      </dl>
      <p className="mt-2 text-sm">
        <Link to={`/schedules/${id}?tab=quality`} className="text-accent hover:underline">
          {data.suggestions.length ? "Charts and suggested expectations" : "Charts"}
        </Link>
      </p>
    </Card>
  );
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div className="flex gap-1">
    <dt className="text-muted">{name}</dt>
    <dd className="tabular-nums">{value}</dd>
  </div>
);

function ItemsChart({ runs, band }: { runs: QualityRun[]; band: { low: number; high: number } | null }) {
  const most = Math.max(...runs.map((run) => run.facts!.items), band?.high ?? 0, 1);
  const x = (at: number): number => (runs.length === 1 ? WIDTH / 2 : (at / (runs.length - 1)) * (WIDTH - 12) + 6);
  const y = (items: number): number => HEIGHT - 6 - (items / most) * (HEIGHT - 12);
  const degraded = runs.filter((run) => run.state === "degraded").length;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className="w-full"
      role="img"
      aria-label={`Items of ${runs.length} runs, ${degraded} of them degraded`}
    >
      {band ? (
        <rect
          x={0}
          width={WIDTH}
          y={y(band.high)}
          height={Math.max(y(band.low) - y(band.high), 1)}
          fill={fill("success")}
          opacity={0.12}
        />
      ) : null}
      <polyline
        points={runs.map((run, at) => `${x(at)},${y(run.facts!.items)}`).join(" ")}
        fill="none"
        stroke="currentColor"
        opacity={0.4}
      />
      {runs.map((run, at) => (
        <circle
          key={run.run_id}
          cx={x(at)}
          cy={y(run.facts!.items)}
          r={run.state === "degraded" ? 4 : 2.5}
          fill={fill(run.state === "degraded" ? "attention" : "success")}
        >
          <title>{`${run.facts!.items} items, ${run.state}`}</title>
        </circle>
      ))}
    </svg>
  );
}
