import { useInfiniteQuery } from "@tanstack/react-query";
import { BellRing } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AlertDetail, AlertState } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { SkeletonRows } from "@/parts/Skeleton";
import { SortSelect } from "@/parts/table/SortSelect";
import { useCommand } from "@/parts/useCommand";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { SeverityBadge } from "./SeverityBadge";

const EMPTY: Record<AlertState, [title: string, text: string, cli: string]> = {
  open: [
    "No open alerts",
    "Rules open one when a schedule fails, is late or misses a scheduled time. See what a rule would have sent:",
    "alert create-rule failures --on failed --on missed --after 3 --preview",
  ],
  acknowledged: [
    "Nothing acknowledged",
    "An acknowledged alert sends no more reminders. Acknowledge one here, or with:",
    "alert ack ALERT",
  ],
  resolved: ["No alerts yet", "Resolved alerts are kept here for as long as runs.", "alert list --state resolved"],
};

/** Open alerts begin with the most severe, those of the past with the newest. */
export const usualOrder = (state: AlertState): string => (state === "open" ? "-severity" : "-opened_at");

const ORDERS: readonly (readonly [string, string])[] = [
  ["-severity", "severity"],
  ["-opened_at", "newest"],
  ["opened_at", "oldest"],
  ["-last_at", "last occurrence"],
  ["-count", "number of times"],
  ["name", "name"],
];

/** Alerts of one state, in an order that the URL holds. */
export function AlertList({ state }: { state: AlertState }) {
  const [order, setOrder] = useUrl("sort", usualOrder(state));
  const query = { state, sort: order, limit: 100 };
  const list = useInfiniteQuery({
    queryKey: queryKeys.alerts(query),
    queryFn: ({ pageParam, signal }) => ask("/api/alerts", { query: { ...query, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 10_000,
  });
  const alerts = list.data?.pages.flatMap((page) => page.items) ?? [];
  const [title, text, cli] = EMPTY[state];
  return (
    <Card flush aside={alerts.length > 1 ? <SortSelect value={order} choices={ORDERS} onChange={setOrder} /> : null}>
      {list.error ? (
        <div className="p-4">
          <ErrorCard error={list.error} what="Could not load alerts" onRetry={() => void list.refetch()} />
        </div>
      ) : list.isPending ? (
        <SkeletonRows rows={4} />
      ) : alerts.length ? (
        <>
          <ul className="divide-y">
            {alerts.map((alert) => (
              <AlertRow key={alert.id} alert={alert} />
            ))}
          </ul>
          {list.hasNextPage ? (
            <div className="border-t p-2">
              <Button
                size="small"
                kind="quiet"
                busy={list.isFetchingNextPage}
                onClick={() => void list.fetchNextPage()}
              >
                Show more
              </Button>
            </div>
          ) : null}
        </>
      ) : (
        <Empty icon={BellRing} title={title} cli={cli}>
          {text}
        </Empty>
      )}
    </Card>
  );
}

function AlertRow({ alert }: { alert: AlertDetail }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <SeverityBadge severity={alert.severity} resolved={alert.state === "resolved"} />
      <Link to={`/alerts/${alert.id}`} className="min-w-0 font-medium break-words hover:underline">
        {alert.summary}
      </Link>
      <span className="min-w-0 text-muted">{alert.reason}</span>
      <span className="ml-auto flex items-center gap-3 text-xs whitespace-nowrap text-muted">
        {alert.count > 1 ? <span>{number(alert.count)} times</span> : null}
        <Instant at={alert.resolved_at ?? alert.opened_at} />
        <AlertActions alert={alert} size="small" />
      </span>
    </li>
  );
}

/** Acknowledge, snooze and resolve, for those who may. */
export function AlertActions({ alert, size }: { alert: AlertDetail; size?: "small" }) {
  const may = usePermission("write:alert");
  const [act, busy] = useCommand();
  if (!may || alert.state === "resolved") return null;
  const params = { alert_id: alert.id };
  return (
    <span className="flex gap-2">
      {alert.state === "open" ? (
        <>
          <Button
            acts
            size={size}
            busy={busy}
            onClick={() => void act("POST", "/api/alerts/{alert_id}/ack", { params }, "Acknowledged")}
          >
            Acknowledge
          </Button>
          <Button
            acts
            size={size}
            kind="quiet"
            onClick={() =>
              void act("POST", "/api/alerts/{alert_id}/snooze", { params, body: { for: "4h" } }, "Snoozed for 4 hours")
            }
          >
            Snooze 4 h
          </Button>
        </>
      ) : null}
      <Button
        acts
        size={size}
        kind="quiet"
        onClick={() => void act("POST", "/api/alerts/{alert_id}/resolve", { params }, "Resolved")}
      >
        Resolve
      </Button>
    </span>
  );
}
