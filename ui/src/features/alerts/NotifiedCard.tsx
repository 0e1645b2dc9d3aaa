import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { NotifyingRule } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Link } from "@/parts/Link";

import { SeverityBadge } from "./SeverityBadge";

/** Which alert rules are about a schedule, and the channels that they notify. */
export function NotifiedCard({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: [...queryKeys.alertRules, "of", id],
    queryFn: ({ signal }) => ask("/api/schedules/{schedule_id}/alert-rules", { params: { schedule_id: id }, signal }),
    staleTime: 60_000,
  });
  if (!data) return null;
  return (
    <Card
      title="Notifications"
      aside={
        <Link to="/alerts?tab=rules" className="text-accent hover:underline">
          Alert rules
        </Link>
      }
    >
      {data.items.length ? (
        <ul className="flex flex-col gap-2">
          {data.items.map((rule) => (
            <li key={rule.id} className="flex flex-wrap items-baseline gap-x-2">
              <SeverityBadge severity={rule.severity} />
              <span className="font-medium">{rule.channels.join(", ") || "no channel"}</span>
              <span className="text-muted">
                {reasonOf(rule)}, {rule.declared ? "by its own settings" : `by the rule ${rule.name}`}
                {rule.filter ? (
                  <>
                    {" "}
                    (<code className="font-mono text-xs">{rule.filter}</code>)
                  </>
                ) : null}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="text-muted">No alert rule covers this schedule: nothing is sent when it fails.</p>
      )}
    </Card>
  );
}

/** "when it failed or was missed, after 3 in a row". */
export function reasonOf(rule: Pick<NotifyingRule, "on" | "after">): string {
  const events = rule.on.map((event) => event.replaceAll("_", " "));
  const listed = events.length > 1 ? `${events.slice(0, -1).join(", ")} or ${events.at(-1)}` : events[0];
  const { in_a_row: row, count, within } = rule.after as { in_a_row?: number; count?: number; within?: string };
  const after = row && row > 1 ? ` (${row} in a row)` : count ? ` (${count} within ${within})` : "";
  return `on ${listed}${after}`;
}
