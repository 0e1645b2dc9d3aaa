import { CircleCheck, CircleDot, CircleMinus, CircleX, type LucideIcon, ShieldAlert, Sparkles } from "lucide-react";

import type { ChangeKind, PageState } from "@/api/schema";
import { cx } from "@/parts/cx";
import { toneBadge } from "@/parts/state/StateBadge";
import type { Tone } from "@/parts/state/states";

const STATES: Record<PageState, { icon: LucideIcon; tone: Tone; means: string }> = {
  new: { icon: Sparkles, tone: "running", means: "seen for the first time, or again after it was removed" },
  same: { icon: CircleCheck, tone: "success", means: "unchanged since the previous visit" },
  changed: { icon: CircleDot, tone: "running", means: "its last visit found a change" },
  removed: { icon: CircleMinus, tone: "neutral", means: "it responds with 404 or 410" },
  error: { icon: CircleX, tone: "failed", means: "it could not be read; its last version is kept" },
  blocked: { icon: ShieldAlert, tone: "attention", means: "it shows a captcha or a login page instead" },
};

/** The state of a watched page, or the kind of a change: icon and word. */
export function PageStateBadge({ state, unvisited }: { state: PageState | ChangeKind; unvisited?: boolean }) {
  const { icon: Icon, tone, means } = STATES[state];
  return (
    <span
      title={unvisited ? "not visited yet" : means}
      className={cx(
        "inline-flex h-5 shrink-0 items-center gap-1 rounded-full px-2 text-xs font-medium",
        toneBadge(unvisited ? "neutral" : tone),
      )}
    >
      <Icon size={13} strokeWidth={2} aria-hidden />
      {unvisited ? "not visited" : state}
    </span>
  );
}
