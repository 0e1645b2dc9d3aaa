import type { CircuitBreaker } from "@/api/schema";
import { Card } from "@/parts/Card";
import { cx } from "@/parts/cx";
import { Instant } from "@/parts/Instant";
import { toneBadge } from "@/parts/state/StateBadge";
import { number } from "@/time/moment";

/** Open circuit breakers: since when, why, and when the next probe is due. */
export function Breakers({ open }: { open: CircuitBreaker[] }) {
  return (
    <Card title="Open circuit breakers" aside="runs for these targets are waiting" flush className="mb-4">
      <ul className="divide-y">
        {open.map((breaker) => (
          <li key={breaker.target} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
            <span className="font-mono text-xs">{breaker.target}</span>
            <BreakerBadge breaker={breaker} />
            <span className="text-muted">
              since <Instant at={breaker.since} />
            </span>
            {breaker.next_trial_at ? (
              <span>
                next trial <Instant at={breaker.next_trial_at} as="relative" />
              </span>
            ) : null}
            <span className="min-w-0 text-muted">
              {number(breaker.failures)} failed attempts: {breaker.why}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

export function BreakerBadge({ breaker }: { breaker: CircuitBreaker }) {
  return (
    <span
      title={breaker.why}
      className={cx(
        "inline-flex h-5 items-center whitespace-nowrap rounded-full px-2 text-xs font-medium",
        toneBadge("attention"),
      )}
    >
      {breaker.state === "half_open" ? "half-open, testing" : "circuit open"}
    </span>
  );
}
