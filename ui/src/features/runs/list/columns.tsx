import type { Run } from "@/api/schema";
import { Duration } from "@/parts/Duration";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Kind } from "@/parts/state/Kind";
import { StateBadge, StateIcon } from "@/parts/state/StateBadge";
import { FINAL } from "@/parts/state/states";
import type { Column } from "@/parts/table/DataTable";
import { duration } from "@/time/moment";

/** Runs that start more than a minute after their instant are marked as late. */
const LATE = 60_000;

/** The columns of a list of runs. `zone` is the label of the display zone, for the header of the clock times. */
export const runColumns = (zone: string): Column<Run>[] => [
  { id: "state", header: "State", width: "108px", card: "lead", cell: (run) => <StateBadge state={run.state} /> },
  { id: "id", header: "Run", width: "140px", card: "none", cell: (run) => <Id id={run.id} to={`/runs/${run.id}`} /> },
  {
    id: "schedule",
    header: "Schedule",
    width: "minmax(120px, 1.2fr)",
    card: "lead",
    cell: (run) => <ScheduleCell run={run} />,
  },
  { id: "kind", header: "Kind", width: "86px", card: "none", cell: (run) => <Kind kind={run.kind} /> },
  {
    id: "scheduled",
    header: `Scheduled (${zone})`,
    width: "102px",
    card: "none",
    cell: (run) =>
      run.scheduled_for ? (
        <Instant at={run.scheduled_for} as="clock" precision="second" />
      ) : (
        <span className="text-muted">{run.origin}</span>
      ),
  },
  {
    id: "started",
    header: "Started",
    width: "72px",
    card: "side",
    cell: (run) => <Instant at={run.started_at} as="relative" none={run.state === "queued" ? "waiting" : "–"} />,
  },
  {
    id: "duration",
    header: "Duration",
    width: "68px",
    right: true,
    cell: (run) =>
      FINAL.has(run.state) || !run.started_at ? <Duration ms={run.duration_ms} /> : <Duration since={run.started_at} />,
  },
  { id: "lag", header: "Start delay", width: "68px", right: true, card: "none", cell: (run) => <Lag run={run} /> },
  {
    id: "attempt",
    header: "Attempt",
    width: "52px",
    right: true,
    card: "none",
    cell: (run) => (run.attempt ? `${run.attempt}/${run.max_attempts}` : "–"),
  },
  { id: "error", header: "Error", width: "minmax(140px, 2fr)", card: "meta", cell: (run) => <ErrorCell run={run} /> },
];

function ScheduleCell({ run }: { run: Run }) {
  if (!run.schedule_id) return <span className="text-muted">manual</span>;
  return (
    <Link to={`/schedules/${run.schedule_id}`} className="hover:underline" title={run.schedule_name ?? run.schedule_id}>
      {run.schedule_name ?? run.schedule_id}
    </Link>
  );
}

function Lag({ run }: { run: Run }) {
  if (run.lateness_ms === null) return <span className="text-muted">–</span>;
  const late = run.lateness_ms > LATE;
  return (
    <span
      className={late ? "inline-flex items-center gap-1 text-attention-ink" : undefined}
      title="How long after its scheduled time it started"
    >
      {late ? <StateIcon state="late" size={12} /> : null}
      {duration(run.lateness_ms)}
    </span>
  );
}

function ErrorCell({ run }: { run: Run }) {
  if (!run.error) return null;
  return (
    <span className="text-muted" title={run.error.message}>
      {run.error.message}
    </span>
  );
}
