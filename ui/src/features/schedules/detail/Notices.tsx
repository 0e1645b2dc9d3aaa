import { CirclePause, CircleSlash, FileText, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

import type { Schedule } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Instant } from "@/parts/Instant";
import { toneBadge } from "@/parts/state/StateBadge";
import type { Tone } from "@/parts/state/states";

import { useScheduleActions } from "../useScheduleActions";

/** Notices above a schedule: it is paused, damaged, deleted, or managed by a file. */
export function Notices({ schedule }: { schedule: Schedule }) {
  return (
    <>
      {schedule.status === "paused" ? <Paused schedule={schedule} /> : null}
      {schedule.skips && schedule.status === "active" ? <Skips schedule={schedule} skips={schedule.skips} /> : null}
      {schedule.fault ? (
        <Notice tone="failed" icon={<TriangleAlert size={16} aria-hidden />}>
          Not firing: its record is damaged ({schedule.fault}). Resume or save it to repair it.
        </Notice>
      ) : null}
      {schedule.managed_by === "file" ? (
        <Notice tone="neutral" icon={<FileText size={16} aria-hidden />}>
          Defined in a pipelines file; edit it there. You can pause, resume and run it here.
        </Notice>
      ) : null}
      {schedule.managed_by.startsWith("file:") && schedule.status !== "deleted" ? <Filed schedule={schedule} /> : null}
      {schedule.status === "deleted" ? (
        <Notice tone="neutral" icon={<TriangleAlert size={16} aria-hidden />}>
          Deleted. It will not run again; its history is kept.
        </Notice>
      ) : null}
    </>
  );
}

function Skips({ schedule, skips }: { schedule: Schedule; skips: NonNullable<Schedule["skips"]> }) {
  const acts = useScheduleActions();
  const may = usePermission("write:schedule");
  return (
    <Notice tone="neutral" icon={<CircleSlash size={16} aria-hidden />}>
      The run at <Instant at={skips.at} zone={schedule.timezone} /> will be skipped (requested by {skips.by ?? "a user"}
      ).{" "}
      {may ? (
        <Button size="small" acts className="ml-1" onClick={() => void acts.unskip(schedule).catch(() => undefined)}>
          Undo
        </Button>
      ) : null}
    </Notice>
  );
}

function Filed({ schedule }: { schedule: Schedule }) {
  const acts = useScheduleActions();
  const may = usePermission("write:schedule");
  return (
    <Notice tone="neutral" icon={<FileText size={16} aria-hidden />}>
      Managed by the files <b>{schedule.managed_by.slice("file:".length)}</b> (foliot apply). Edits made here are
      reported there as drift.{" "}
      {may ? (
        <Button size="small" acts className="ml-1" onClick={() => void acts.takeOver(schedule).catch(() => undefined)}>
          Take over
        </Button>
      ) : null}
    </Notice>
  );
}

function Paused({ schedule }: { schedule: Schedule }) {
  return (
    <Notice tone="neutral" icon={<CirclePause size={16} aria-hidden />}>
      Paused
      {schedule.paused_at ? (
        <>
          {" "}
          by {schedule.paused_by ?? "a user"}, <Instant at={schedule.paused_at} />
        </>
      ) : null}
      {schedule.paused_reason ? <> – “{schedule.paused_reason}”</> : null}. Nothing will run until you resume.
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
