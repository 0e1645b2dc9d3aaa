import { CloudOff, RefreshCw, TriangleAlert } from "lucide-react";

import { ProblemError } from "@/api/problem";
import { useSession } from "@/api/session";
import { useZone } from "@/prefs";
import { clock, mark } from "@/time/moment";

import { Button } from "./Button";
import { CopyButton } from "./copy/CopyButton";
import { curl } from "./copy/snippets";
import { cx } from "./cx";

export interface ErrorCardProps {
  error: unknown;
  /** What failed: "The runs could not be read". */
  what?: string;
  onRetry?: () => void;
  /** One line, above stale data that is still shown. */
  bar?: boolean;
}

/** An error with its time, its request, and ways to go on. */
export function ErrorCard({ error, what, onRetry, bar }: ErrorCardProps) {
  const zone = useZone();
  const secured = useSession()?.mode === "secured";
  const known = error instanceof ProblemError ? error : null;
  const Icon = known?.offline ? CloudOff : TriangleAlert;
  const title = what ?? known?.problem.title ?? "Something went wrong on this page";
  const detail = known ? known.message : error instanceof Error ? error.message : String(error);
  return (
    <div
      role="alert"
      className={cx(
        "flex gap-x-3 gap-y-2 rounded-lg border border-failed/40 bg-failed-tint text-sm",
        bar ? "flex-wrap items-center px-3 py-1.5" : "flex-col p-4 sm:flex-row",
      )}
    >
      <Icon size={18} className="mt-0.5 shrink-0 text-failed-ink" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-failed-ink">{title}</p>
        <p className="break-words">{detail}</p>
        {known && !bar ? (
          <p className="mt-1 font-mono text-xs break-all text-muted">
            {known.request.method} {known.request.path.slice(0, 120)} · {known.status || "no response"} ·{" "}
            {clock(known.at.getTime(), zone, "second")} {mark(known.at.getTime(), zone)}
            {known.requestId ? ` · ${known.requestId}` : ""}
          </p>
        ) : null}
      </div>
      <div className="flex shrink-0 items-start gap-2">
        {onRetry ? (
          <Button size={bar ? "small" : "normal"} icon={<RefreshCw size={14} aria-hidden />} onClick={onRetry}>
            Retry
          </Button>
        ) : null}
        {known && !bar ? (
          <CopyButton text={curl(known.request, window.location.origin, secured)} label="Copy as curl" />
        ) : null}
      </div>
    </div>
  );
}
