import { useQuery } from "@tanstack/react-query";
import { CirclePause, FileText, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

import type { Page, Schedule, TrailEntry } from "@/api/calls";
import { ask } from "@/api/client";
import { toneBadge } from "@/parts/StateBadge";
import { Instant } from "@/parts/Instant";
import type { Tone } from "@/words/states";

/** What one must know before all else: it is paused, damaged, deleted, or belongs to a file. */
export function Notices({ schedule }: { schedule: Schedule }) {
  return (
    <>
      {schedule.status === "paused" ? <Paused schedule={schedule} /> : null}
      {schedule.fault ? (
        <Notice tone="failed" icon={<TriangleAlert size={16} aria-hidden />}>
          Silent although active: its record was damaged ({schedule.fault}). Resume or save it to mend it.
        </Notice>
      ) : null}
      {schedule.managed_by === "file" ? (
        <Notice tone="neutral" icon={<FileText size={16} aria-hidden />}>
          Made from a pipelines file and edited there. Here it can be paused, resumed and run.
        </Notice>
      ) : null}
      {schedule.status === "deleted" ? (
        <Notice tone="neutral" icon={<TriangleAlert size={16} aria-hidden />}>
          Deleted. It fires no more; what it did stays on record.
        </Notice>
      ) : null}
    </>
  );
}

function Paused({ schedule }: { schedule: Schedule }) {
  const { data } = useQuery({
    queryKey: ["schedules", "paused-by", schedule.id],
    queryFn: ({ signal }) => ask<Page<TrailEntry>>("/api/audit", { query: { thing: "schedule", thing_id: schedule.id, verb: "pause", limit: 1 }, signal }),
    retry: false,
  });
  const entry = data?.items[0];
  return (
    <Notice tone="neutral" icon={<CirclePause size={16} aria-hidden />}>
      Paused
      {entry ? (
        <>
          {" "}
          by {entry.user_id || "somebody"}, <Instant at={entry.at} />
        </>
      ) : null}
      {schedule.paused_reason ? <> – “{schedule.paused_reason}”</> : null}. No instant fires until somebody resumes it.
    </Notice>
  );
}

function Notice({ tone, icon, children }: { tone: Tone; icon: ReactNode; children: ReactNode }) {
  return (
    <div role="note" className={`flex items-start gap-2 rounded-lg px-3 py-2 ${toneBadge(tone)}`}>
      <span className="mt-0.5 shrink-0">{icon}</span>
      <p className="min-w-0">{children}</p>
    </div>
  );
}
