import type { Run } from "@/api/schema";
import { FINAL } from "@/parts/state/states";
import { duration, millis, number } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { useProgress } from "./useProgress";

const isShown = (value: unknown): boolean => typeof value === "number" || typeof value === "string";

/** The progress of a run, with the estimated time left. */
export function ProgressBar({ run }: { run: Run }) {
  const progress = useProgress(run);
  const now = useNow();
  if (!progress) return null;
  const { done, total, rest } = progress;
  const over = FINAL.has(run.state);
  const ratio = done !== null && total ? Math.min(done / total, 1) : null;
  const spent = run.started_at ? now - millis(run.started_at) : 0;
  const left = ratio && ratio > 0.02 && ratio < 1 && !over ? (spent / ratio) * (1 - ratio) : null;
  // Texts, such as the present step, are of the moment; a batch that has ended shows its counts in the card below.
  const facts = Object.entries(rest).filter(
    ([name, value]) =>
      !name.endsWith("_id") && (over ? run.kind !== "articles" && typeof value === "number" : isShown(value)),
  );
  // A successful run needs no bar; a failed one shows how far it came.
  if (ratio === 1 && over) return null;
  if (ratio === null && !facts.length) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
      {ratio !== null ? (
        <>
          <span>
            {number(done ?? 0)} / {number(total ?? 0)}
          </span>
          <div
            role="progressbar"
            aria-label="Progress"
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round(ratio * 100)}
            className="h-2 min-w-32 flex-1 overflow-hidden rounded-full bg-line"
          >
            <div className="h-full bg-running" style={{ width: `${ratio * 100}%` }} />
          </div>
          <span>{Math.floor(ratio * 100)} %</span>
        </>
      ) : null}
      {left ? <span className="text-muted">about {duration(Math.ceil(left / 1000) * 1000)} left</span> : null}
      {facts.slice(0, 6).map(([name, value]) => (
        <span key={name} className="text-muted">
          {name.replaceAll("_", " ")}{" "}
          <span className="text-ink">{typeof value === "number" ? number(value) : String(value)}</span>
        </span>
      ))}
    </div>
  );
}
