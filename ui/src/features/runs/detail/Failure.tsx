import { useQuery } from "@tanstack/react-query";
import { ArchiveX, Ban, CircleX } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Link } from "@/parts/Link";
import { number } from "@/time/moment";

/** The error of a run, how often it occurred, and the actions on it. */
export function Failure({ run, onJump, onEdit }: { run: Run; onJump: () => void; onEdit?: () => void }) {
  const q = run.fingerprint ? `fingerprint:${run.fingerprint} since:7d` : null;
  const { data } = useQuery({
    queryKey: queryKeys.runsCount({ q: q ?? "" }),
    queryFn: ({ signal }) => ask("/api/runs/count", { query: { q }, signal }),
    enabled: q !== null,
  });
  // Of a degraded run, the broken expectations are listed by `DataVerdict`.
  if (!run.error || run.state === "degraded") return null;
  const dead = run.state === "dead_letter";
  if (run.state === "cancelled")
    return (
      <p className="flex items-center gap-2 rounded-lg bg-neutral-tint px-3 py-2 text-neutral-ink">
        <Ban size={16} aria-hidden /> {run.error.message}
      </p>
    );
  const Icon = dead ? ArchiveX : CircleX;
  return (
    <section
      aria-label="Why it failed"
      className={`flex flex-wrap items-start gap-x-3 gap-y-2 rounded-lg border p-3 ${dead ? "border-dead/40 bg-dead-tint" : "border-failed/40 bg-failed-tint"}`}
    >
      <Icon size={18} className={dead ? "mt-0.5 text-dead-ink" : "mt-0.5 text-failed-ink"} aria-hidden />
      <div className="min-w-0 flex-1 basis-56">
        <p className={`font-medium [overflow-wrap:anywhere] ${dead ? "text-dead-ink" : "text-failed-ink"}`}>
          {run.error.message}{" "}
          {run.max_attempts > 1 ? (
            <span className="font-normal">
              (
              {run.attempt === run.max_attempts
                ? `all ${run.attempt} attempts`
                : `attempt ${run.attempt} of ${run.max_attempts}`}
              )
            </span>
          ) : null}
        </p>
        <p className="text-sm text-muted">
          <code className="font-mono text-xs">{run.error.code}</code>
          {run.error.cause && run.error.cause !== run.error.code ? (
            <>
              {" · "}
              <code className="font-mono text-xs">{run.error.cause}</code>
            </>
          ) : null}
          {data && q && data.count > 1 ? (
            <>
              {" · "}
              <Link to={`/runs?q=${encodeURIComponent(q)}`} className="underline">
                same error in {number(data.count)} runs in the last 7 days
              </Link>
            </>
          ) : null}
          {run.resolved_by ? (
            <>
              {" · "}resolved by{" "}
              {run.resolved_by.startsWith("run_") ? (
                <Link to={`/runs/${run.resolved_by}`} className="underline">
                  a replay
                </Link>
              ) : (
                run.resolved_by
              )}
            </>
          ) : null}
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button size="small" onClick={onJump}>
          Jump to error
        </Button>
        {dead && run.fingerprint ? (
          <Link
            to={`/dead-letters?q=${encodeURIComponent(`fingerprint:${run.fingerprint}`)}`}
            className="inline-flex h-6 items-center rounded border bg-raised px-2 text-xs font-medium hover:bg-surface"
          >
            View group
          </Link>
        ) : null}
        {onEdit ? (
          <Button acts size="small" onClick={onEdit}>
            Edit & replay
          </Button>
        ) : null}
      </div>
    </section>
  );
}
