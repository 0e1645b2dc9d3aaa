import type { Run } from "@/api/schema";
import { cx } from "@/parts/cx";
import { Link } from "@/parts/Link";
import { StateIcon } from "@/parts/state/StateBadge";
import { lookOf } from "@/parts/state/states";
import { clock, day, duration, exact, millis, number, relative } from "@/time/moment";

import { type InstantGroup, reasonOf } from "./instantGroups";

/** One instant, or a group of them: outcome, reason and consequence. */
export function InstantRow({
  tick,
  dated,
  zone,
  run,
  repeated,
  now,
}: {
  tick: InstantGroup;
  dated: boolean;
  zone: string;
  run: Run | undefined;
  /** The run below a newer one with the same error. */
  repeated: boolean;
  now: number;
}) {
  const { first, last, count } = tick;
  const precision = millis(first.at) % 60_000 ? "second" : "minute";
  const state = first.outcome === "ran" || first.outcome === "queued" ? (run?.state ?? first.reason) : first.outcome;
  return (
    <div className="flex min-h-8 items-start gap-2 px-3 py-1.5">
      <time
        dateTime={first.at}
        title={exact(first.at, now)}
        className={cx("shrink-0 font-mono text-xs leading-5", dated ? "w-42" : "w-26")}
      >
        {dated ? <span className="text-muted">{day(first.at, zone, now)} </span> : null}
        {clock(first.at, zone, precision)}
        {count > 1 ? `–${clock(last.at, zone, precision)}` : ""}
      </time>
      <StateIcon state={state} className="mt-0.5" />
      <div className="min-w-0 flex-1">
        {first.outcome === "ran" || first.outcome === "queued" ? (
          <Link to={`/runs/${first.run_id}`} className="group flex flex-wrap gap-x-2">
            <span className="font-medium group-hover:underline">{lookOf(state).label}</span>
            {run?.started_at ? (
              <span className="text-muted">
                {[
                  run.duration_ms === null ? "" : `took ${duration(run.duration_ms)}`,
                  run.attempt > 1 ? `${run.attempt} attempts` : "",
                  (run.lateness_ms ?? 0) >= 1000 ? `started ${duration(run.lateness_ms)} late` : "",
                  repeated ? "same error" : "",
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            ) : null}
            {run?.error && !repeated ? (
              <span className="min-w-0 basis-full truncate text-failed-ink">{run.error.message}</span>
            ) : null}
          </Link>
        ) : first.outcome === "planned" ? (
          <span className="text-muted">planned, {relative(first.at, now)}</span>
        ) : (
          <>
            <span className="font-medium">
              {count > 1 ? `${number(count)} ${lookOf(state).label}` : lookOf(state).label}
            </span>{" "}
            <span className="text-muted">{reasonOf(first)}.</span>
          </>
        )}
      </div>
    </div>
  );
}
