import type { JobReport } from "@/api/schema";
import { cx } from "@/parts/cx";
import { number } from "@/time/moment";

import { progressParts } from "./job";

const FILL: Record<string, string> = {
  success: "bg-success",
  running: "bg-running",
  failed: "bg-failed",
  line: "bg-line",
};

/** The progress of a job: done, cached, failed and pending. */
export function JobProgress({ job, words = true }: { job: JobReport; words?: boolean }) {
  const total = job.total_articles ?? 0;
  const shown = progressParts(job).filter((part) => part.count);
  const label = shown.map((part) => `${number(part.count)} ${part.name}`).join(", ");
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-1.5">
      <div
        role="img"
        aria-label={`Of ${number(total)}: ${label || "nothing yet"}`}
        title={label}
        className="flex h-2.5 overflow-hidden rounded-full bg-line"
      >
        {shown.map((part) => (
          <div
            key={part.name}
            className={cx(FILL[part.tone], part.name === "cached" && "opacity-60")}
            style={{ width: `${total ? (100 * part.count) / total : 0}%` }}
          />
        ))}
      </div>
      {words ? (
        <p className="flex flex-wrap gap-x-4 text-sm text-muted">
          {shown.map((part) => (
            <span key={part.name}>
              <span className="font-medium text-ink">{number(part.count)}</span> {part.name}
            </span>
          ))}
          <span>of {number(total)}</span>
          {total && job.cached ? <span>{Math.round((100 * job.cached) / total)} % from cache</span> : null}
        </p>
      ) : null}
    </div>
  );
}
