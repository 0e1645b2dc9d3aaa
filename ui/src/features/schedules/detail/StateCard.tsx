import type { Run, Schedule, ScheduleHealth } from "@/api/schema";
import { Link } from "@/parts/Link";
import { StateIcon, toneBadge } from "@/parts/state/StateBadge";
import { number } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { stateOf } from "./stateSentence";

/** What a person wants to know first: how the schedule is, since when, and why. */
export function StateCard({
  schedule,
  health,
  runs,
}: {
  schedule: Schedule;
  health: ScheduleHealth | undefined;
  runs: readonly Run[];
}) {
  const now = useNow(1000);
  const found = stateOf(schedule, health, runs, now);
  if (!found) return null;
  const streak = found.streak ?? 0;
  return (
    <section
      aria-label="State"
      className={`flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg px-3 py-2 ${toneBadge(found.tone)}`}
    >
      <StateIcon state={found.state} size={18} />
      <p className="min-w-0 flex-1 basis-60 text-base font-medium [overflow-wrap:anywhere]">
        {found.text}
        {found.cause ? `: ${found.cause}` : "."}
        {streak > 1 ? <span className="ml-2 text-sm font-normal">{number(streak)} runs in a row</span> : null}
      </p>
      {found.run ? (
        <Link to={`/runs/${found.run}`} className="text-sm font-medium underline">
          {found.tone === "failed" ? "View last failure" : "View run"}
        </Link>
      ) : null}
    </section>
  );
}
