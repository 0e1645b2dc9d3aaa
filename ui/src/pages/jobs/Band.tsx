import type { Job } from "@/api/calls";
import { cx } from "@/parts/cx";
import { number } from "@/time/moment";

import { parts } from "./shapes";

const FILL: Record<string, string> = {
  success: "bg-success",
  running: "bg-running",
  failed: "bg-failed",
  line: "bg-line",
};

/** Done, cached, failed, pending: how far a batch is. */
export function Band({ job, words = true }: { job: Job; words?: boolean }) {
  const total = job.total_articles ?? 0;
  const shown = parts(job).filter((one) => one.count);
  const label = shown.map((one) => `${number(one.count)} ${one.name}`).join(", ");
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-1.5">
      <div
        role="img"
        aria-label={`Of ${number(total)}: ${label || "nothing yet"}`}
        title={label}
        className="flex h-2.5 overflow-hidden rounded-full bg-line"
      >
        {shown.map((one) => (
          <div
            key={one.name}
            className={cx(FILL[one.tone], one.name === "cached" && "opacity-60")}
            style={{ width: `${total ? (100 * one.count) / total : 0}%` }}
          />
        ))}
      </div>
      {words ? (
        <p className="flex flex-wrap gap-x-4 text-sm text-muted">
          {shown.map((one) => (
            <span key={one.name}>
              <span className="font-medium text-ink">{number(one.count)}</span> {one.name}
            </span>
          ))}
          <span>of {number(total)}</span>
          {total && job.cached ? <span>{Math.round((100 * job.cached) / total)} % saved by the cache</span> : null}
        </p>
      ) : null}
    </div>
  );
}
