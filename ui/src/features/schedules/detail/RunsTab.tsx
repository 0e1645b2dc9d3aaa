import { useMemo } from "react";

import type { Run } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Chart } from "@/parts/chart/Chart";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useKeys } from "@/parts/useKeys";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { absolute, duration, mark, millis, number, short } from "@/time/moment";

import { dotsOf, DurationScatter } from "./DurationScatter";

const rowId = (run: Run): string => run.id;

const columnsOf = (zoneMark: string): Column<Run>[] => [
  {
    id: "state",
    header: "State",
    width: "168px",
    card: "lead",
    cell: (run) => <StateBadge state={run.state} note={run.attempt > 1 ? `attempt ${run.attempt}` : undefined} />,
  },
  { id: "id", header: "Run", width: "150px", card: "none", cell: (run) => <Id id={run.id} to={`/runs/${run.id}`} /> },
  {
    id: "at",
    header: `Scheduled (${zoneMark})`,
    width: "minmax(150px, 1fr)",
    card: "meta",
    cell: (run) =>
      run.scheduled_for ? (
        <Instant at={run.scheduled_for} as="short" precision="second" />
      ) : (
        <span className="text-muted">{run.origin}</span>
      ),
    sort: (run) => millis(run.scheduled_for ?? run.created_at),
  },
  {
    id: "started",
    header: "Started",
    width: "minmax(150px, 1fr)",
    card: "none",
    cell: (run) => <Instant at={run.started_at} as="short" precision="second" />,
  },
  {
    id: "lag",
    header: "Start delay",
    width: "80px",
    right: true,
    card: "none",
    cell: (run) => <Duration ms={run.lateness_ms} />,
    sort: (run) => run.lateness_ms,
  },
  {
    id: "took",
    header: "Duration",
    width: "90px",
    right: true,
    card: "side",
    cell: (run) => (run.state === "running" ? <Duration since={run.started_at} /> : <Duration ms={run.duration_ms} />),
    sort: (run) => run.duration_ms,
  },
  {
    id: "error",
    header: "Error",
    width: "minmax(160px, 2fr)",
    card: "meta",
    cell: (run) => (
      <span className="text-failed-ink" title={run.error?.message}>
        {run.error?.message}
      </span>
    ),
  },
];

/** The last runs of a schedule: a chart whose selection filters the table below it. */
export function RunsTab({
  id,
  runs,
  loading,
  error,
  more,
  onRetry,
}: {
  id: string;
  runs: readonly Run[];
  loading: boolean;
  error: unknown;
  more: boolean;
  onRetry: () => void;
}) {
  const zone = useZone();
  const [text, setText] = useUrl("span");
  const span = useMemo<[number, number] | null>(() => {
    const [from, to] = text.split("-").map(Number);
    return from && to ? [from, to] : null;
  }, [text]);
  const shown = useMemo(
    () =>
      span
        ? runs.filter((run) => run.started_at && millis(run.started_at) >= span[0] && millis(run.started_at) <= span[1])
        : runs,
    [runs, span],
  );
  useKeys({ escape: span ? () => setText("") : undefined });
  const columns = useMemo(() => columnsOf(mark(Date.now(), zone)), [zone]);
  return (
    <div className="flex flex-col gap-4">
      <Chart
        title={`Run duration by start time (${mark(Date.now(), zone)})`}
        aside={<span className="hidden sm:inline">drag to select a period</span>}
        head={["Started", "State", "Duration"]}
        rows={() =>
          dotsOf(runs).map((dot) => [absolute(dot.at, zone, Date.now(), "second"), dot.run.state, duration(dot.ms)])
        }
      >
        {loading ? (
          <Skeleton className="h-46 w-full" />
        ) : (
          <DurationScatter runs={runs} span={span} onSpan={(next) => setText(next ? `${next[0]}-${next[1]}` : "")} />
        )}
      </Chart>
      {span ? (
        <p className="flex flex-wrap items-center gap-2">
          {number(shown.length)} of {number(runs.length)} runs, from {short(span[0], zone, Date.now(), "second")} to{" "}
          {short(span[1], zone, Date.now(), "second")}
          <Button size="small" hotkey="esc" onClick={() => setText("")}>
            Show all
          </Button>
        </p>
      ) : null}
      <DataTable
        label="Runs of this schedule"
        columns={columns}
        rows={shown}
        rowId={rowId}
        href={(run) => `/runs/${run.id}`}
        fill={false}
        loading={loading}
        error={error}
        onRetry={onRetry}
        empty={<Empty title={span ? "No runs in this period" : "Never run"} />}
      />
      {more ? (
        <Link to={`/runs?q=${encodeURIComponent(`schedule:${id}`)}`} className="self-start text-accent hover:underline">
          View all runs
        </Link>
      ) : null}
    </div>
  );
}
