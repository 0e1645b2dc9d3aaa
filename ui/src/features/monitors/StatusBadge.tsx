import { CircleCheck, CircleDashed, CirclePause, CircleX, Clock, type LucideIcon } from "lucide-react";

import type { MonitorStatus } from "@/api/schema";
import { cx } from "@/parts/cx";
import { toneBadge } from "@/parts/state/StateBadge";
import type { Tone } from "@/parts/state/states";

const STATUSES: Record<MonitorStatus, { icon: LucideIcon; tone: Tone; means: string }> = {
  new: { icon: CircleDashed, tone: "neutral", means: "waiting for its first ping" },
  up: { icon: CircleCheck, tone: "success", means: "its pings arrive on time" },
  late: { icon: Clock, tone: "attention", means: "no ping within the grace time" },
  down: { icon: CircleX, tone: "failed", means: "silent for twice the grace time, or its job reported a failure" },
  paused: { icon: CirclePause, tone: "neutral", means: "pings are recorded, but change nothing" },
};

/** The status of a monitor: icon and word. */
export function StatusBadge({ status }: { status: MonitorStatus }) {
  const { icon: Icon, tone, means } = STATUSES[status];
  return (
    <span
      title={means}
      className={cx(
        "inline-flex h-5 shrink-0 items-center gap-1 rounded-full px-2 text-xs font-medium",
        toneBadge(tone),
      )}
    >
      <Icon size={13} strokeWidth={2} aria-hidden />
      {status}
    </span>
  );
}
