import type { Run } from "@/api/schema";
import { Duration } from "@/parts/Duration";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { kindOf } from "@/parts/state/kinds";
import { StateBadge, StateIcon } from "@/parts/state/StateBadge";
import { FINAL } from "@/parts/state/states";
import type { Column } from "@/parts/table/DataTable";
import { duration } from "@/time/moment";

/** Runs that start more than a minute after their instant are marked as late. */
const LATE = 60_000;

/** The columns of a list of runs. `zone` is the label of the display zone, for the header of the clock times. */
export const runColumns = (zone: string): Column<Run>[] => [
  {
    id: "state",
    header: "State",
    width: "108px",
    card: "lead",
    order: "state",
    cell: (run) => <StateBadge state={run.state} />,
  },
  {
    id: "schedule",
    header: "Schedule",
    width: "minmax(120px, 1.2fr)",
    card: "lead",
    cell: (run) => <ScheduleCell run={run} />,
  },
  {
    id: "scheduled",
    header: `Scheduled (${zone})`,
    width: "102px",
    card: "none",
    order: "-scheduled_for",
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
    order: "-started_at",
    cell: (run) => <Instant at={run.started_at} as="relative" none={run.state === "queued" ? "waiting" : "–"} />,
  },
  {
    id: "duration",
    header: "Duration",
    width: "68px",
    right: true,
    order: "-duration",
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
  { id: "error", header: "Error", width: "minmax(140px, 2.4fr)", card: "meta", cell: (run) => <ErrorCell run={run} /> },
  { id: "id", header: "Run", width: "132px", card: "none", cell: (run) => <Id id={run.id} to={`/runs/${run.id}`} /> },
];

function ScheduleCell({ run }: { run: Run }) {
  const { icon: Icon, label } = kindOf(run.kind);
  const task = run.action?.task ?? run.action?.pipeline ?? run.action?.spider;
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <span role="img" aria-label={label} title={label} className="inline-flex shrink-0 text-muted">
        <Icon size={14} strokeWidth={1.75} aria-hidden />
      </span>
      {run.schedule_id ? (
        <Link
          to={`/schedules/${run.schedule_id}`}
          className="truncate font-medium hover:underline"
          title={run.schedule_name ?? run.schedule_id}
        >
          {run.schedule_name ?? run.schedule_id}
        </Link>
      ) : (
        <span className="truncate text-muted">{typeof task === "string" ? task : `one-time ${label}`}</span>
      )}
    </span>
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
