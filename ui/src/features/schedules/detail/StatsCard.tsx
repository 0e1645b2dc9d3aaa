import type { Run, ScheduleHealth } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { duration, number, percent } from "@/time/moment";

import { OutcomeStrip } from "../OutcomeStrip";
import { lagClasses, statsOf } from "./stats";

/** The health of a schedule by its last runs; every number links to the runs that it counts. */
export function StatsCard({
  id,
  runs,
  health,
  more,
  loading,
}: {
  id: string;
  runs: readonly Run[];
  health: ScheduleHealth | undefined;
  more: boolean;
  loading: boolean;
}) {
  const stats = statsOf(runs);
  const classes = lagClasses(runs);
  const most = Math.max(...classes.map((lagClass) => lagClass.count), 1);
  if (loading) {
    return (
      <Card title="Health">
        <div className="flex h-36 flex-col justify-between">
          <Skeleton className="h-12 w-full" />
          <Skeleton className="h-16 w-full" />
        </div>
      </Card>
    );
  }
  const list = (q: string): string => `/runs?q=${encodeURIComponent(`schedule:${id}${q}`)}`;
  return (
    <Card
      title="Health"
      aside={
        runs.length
          ? `${more ? "last " : ""}${number(runs.length)} ${runs.length === 1 ? "run" : "runs"}`
          : "no runs yet"
      }
    >
      <div className="grid grid-cols-2 gap-4">
        <Figure
          label="Success"
          value={percent(stats.ratio)}
          to={list(" state:partial,failed,dead_letter")}
          note={`${number(stats.fine)} of ${number(stats.judged)}`}
        />
        <Figure label="Median duration" value={duration(stats.p50)} to={list("")} note={`p95 ${duration(stats.p95)}`} />
        <Figure
          label="Median start delay"
          value={duration(stats.lag)}
          to={list(" late:true")}
          note={stats.late ? `${number(stats.late)} over a minute` : "none over a minute"}
        />
        <div>
          <p className="text-xs text-muted">Last 20 runs</p>
          <div className="mt-2">
            <OutcomeStrip outcomes={health?.outcomes} />
          </div>
        </div>
      </div>
      <div className="mt-4">
        <p className="text-xs text-muted">Start delay</p>
        <ul className="mt-1 grid grid-cols-5 gap-2">
          {classes.map((lagClass) => (
            <li key={lagClass.label} className="text-xs">
              <div className="flex h-8 items-end">
                <div
                  className="w-full rounded-t-sm bg-accent/70"
                  style={{ height: lagClass.count ? `${Math.max((100 * lagClass.count) / most, 6)}%` : 0 }}
                />
              </div>
              <div className="border-t pt-0.5 whitespace-nowrap text-muted">{lagClass.label}</div>
              <div>{number(lagClass.count)}</div>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

function Figure({ label, value, note, to }: { label: string; value: string; note: string; to: string }) {
  return (
    <Link to={to} className="group min-w-0">
      <p className="text-xs text-muted">{label}</p>
      <p className="text-xl font-semibold group-hover:underline">{value}</p>
      <p className="truncate text-xs text-muted">{note}</p>
    </Link>
  );
}
