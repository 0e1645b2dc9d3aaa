import type { BulkAction } from "@/api/schema";
import { Link } from "@/parts/Link";
import { number } from "@/time/moment";

/** Items that are done, failed and waiting, as one bar. */
export function ProgressBar({ bulk }: { bulk: BulkAction }) {
  const share = (count: number): string => `${bulk.total ? (100 * count) / bulk.total : 0}%`;
  const label = `${number(bulk.done)} of ${number(bulk.total)}: ${number(bulk.ok)} done, ${number(bulk.failed)} failed`;
  const made = Object.entries(bulk.outcomes).filter(([, count]) => count);
  return (
    <div className="flex flex-col gap-1.5">
      <div
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={bulk.total}
        aria-valuenow={bulk.done}
        aria-valuetext={label}
        className="flex h-2 overflow-hidden rounded-full bg-line"
      >
        <div className="bg-accent" style={{ width: share(bulk.ok) }} />
        <div className="bg-failed" style={{ width: share(bulk.failed) }} />
      </div>
      <p className="text-sm text-muted">
        <span className="font-medium text-ink">
          {number(bulk.done)} of {number(bulk.total)}
        </span>{" "}
        · {number(bulk.ok)} done{bulk.failed ? ` · ${number(bulk.failed)} failed` : ""}
        {bulk.pending && bulk.state === "stopped" ? ` · ${number(bulk.pending)} not started` : ""}
        {made.length ? " · runs created: " : ""}
        {made.map(([state, count], index) => (
          <span key={state}>
            {index ? ", " : ""}
            <Link
              to={`/runs?q=${encodeURIComponent(`state:${state} ${madeBy(bulk)}`)}`}
              className="hover:text-ink hover:underline"
            >
              {number(count ?? 0)} {state.replace("_", " ")}
            </Link>
          </span>
        ))}
      </p>
    </div>
  );
}

/** The filter of the runs that the bulk action created. */
function madeBy(bulk: BulkAction): string {
  if (bulk.action === "backfill")
    return `schedule:${String(bulk.details?.schedule_id)} origin:manual since:${bulk.created_at}`;
  return `origin:${bulk.action === "run" ? "manual" : bulk.action === "replay" ? "replay" : "retry"} since:24h`;
}
