import type { Breaker } from "@/api/calls";
import { Card } from "@/parts/Card";
import { cx } from "@/parts/cx";
import { Instant } from "@/parts/Instant";
import { toneBadge } from "@/parts/StateBadge";
import { number } from "@/time/moment";

/** Targets that do not answer and are left alone: since when, why, and when one run tries again. */
export function Breakers({ open }: { open: Breaker[] }) {
  return (
    <Card title="Breakers that are open" aside="runs to these targets wait" flush className="mb-4">
      <ul className="divide-y">
        {open.map((one) => (
          <li key={one.target} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
            <span className="font-mono text-xs">{one.target}</span>
            <BreakerBadge one={one} />
            <span className="text-muted">
              since <Instant at={one.since} />
            </span>
            {one.next_trial_at ? (
              <span>
                next trial <Instant at={one.next_trial_at} as="relative" />
              </span>
            ) : null}
            <span className="min-w-0 text-muted">
              {number(one.failures)} attempts unanswered: {one.why}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

export function BreakerBadge({ one }: { one: Breaker }) {
  return (
    <span
      title={one.why}
      className={cx(
        "inline-flex h-5 items-center whitespace-nowrap rounded-full px-2 text-xs font-medium",
        toneBadge("attention"),
      )}
    >
      {one.state === "half_open" ? "breaker half open, trial under way" : "breaker open"}
    </span>
  );
}
