import { CircleX } from "lucide-react";

import type { PipelinePage } from "@/api/schema";

/** What is wrong with the file, and where. */
export function FileError({ error }: { error: PipelinePage["faults"][number] }) {
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded-lg border border-failed/40 bg-failed-tint p-3 text-sm text-failed-ink"
    >
      <CircleX size={16} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0">
        <p className="font-mono text-xs">
          {[error.file, error.line, error.column].filter((part) => part !== null).join(":")}
        </p>
        <p className="break-words">{error.message}</p>
        {error.suggestion ? <p>{error.suggestion}</p> : null}
        <p className="mt-1 text-xs">
          Fix the file; it is reloaded within two seconds. Until then the last valid version stays active.
        </p>
      </div>
    </div>
  );
}
