import { Clock } from "lucide-react";

import { Button } from "@/parts/Button";

/** The server's notes on daylight-saving changes. */
export function ClockChanges({ notes, onUtc }: { notes: readonly string[]; onUtc?: () => void }) {
  if (!notes.length) return null;
  return (
    <div className="rounded border border-attention/40 bg-attention-tint px-3 py-2 text-attention-ink">
      <p className="flex items-center gap-1.5 text-xs font-medium">
        <Clock size={13} aria-hidden /> Daylight saving changes
      </p>
      <ul className="mt-1 flex flex-col gap-1 text-xs">
        {notes.map((note) => (
          <li key={note}>{note}.</li>
        ))}
      </ul>
      {onUtc ? (
        <Button size="small" className="mt-2" onClick={onUtc}>
          Use UTC instead
        </Button>
      ) : null}
    </div>
  );
}
