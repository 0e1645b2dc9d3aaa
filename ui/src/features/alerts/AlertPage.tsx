import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AlertDelivery, AlertDetail } from "@/api/schema";
import { Card } from "@/parts/Card";
import { CopyAs } from "@/parts/copy/CopyAs";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { number } from "@/time/moment";

import { AlertActions } from "./AlertList";
import { SeverityBadge } from "./SeverityBadge";

/** One alert: what happened, since when, and what became of the messages about it. */
export default function AlertPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const alert = useQuery({
    queryKey: queryKeys.alert(id),
    queryFn: ({ signal }) => ask("/api/alerts/{alert_id}", { params: { alert_id: id }, signal }),
    refetchInterval: 5000,
  });
  const channels = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
  });
  const names = Object.fromEntries((channels.data?.items ?? []).map((channel) => [channel.id, channel.name]));
  if (alert.error)
    return (
      <Page title="Alert" crumbs={[{ label: "Alerts", to: "/alerts" }]}>
        <ErrorCard error={alert.error} what="Could not load the alert" onRetry={() => void alert.refetch()} />
      </Page>
    );
  if (alert.isPending)
    return (
      <Page title="Alert" crumbs={[{ label: "Alerts", to: "/alerts" }]}>
        <SkeletonRows rows={4} />
      </Page>
    );
  return (
    <Page
      title={alert.data.summary}
      crumbs={[{ label: "Alerts", to: "/alerts" }]}
      aside={<SeverityBadge severity={alert.data.severity} resolved={alert.data.state === "resolved"} />}
      actions={
        <>
          <AlertActions alert={alert.data} />
          <CopyAs
            call={{ verb: "Show this alert", method: "GET", path: `/api/alerts/${id}`, cli: `alert show ${id}` }}
          />
        </>
      }
    >
      <Facts alert={alert.data} />
      <Card title="Messages" flush>
        {alert.data.deliveries.length ? (
          <ul className="divide-y">
            {alert.data.deliveries.map((delivery) => (
              <Message key={delivery.id} delivery={delivery} name={names[delivery.channel_id] ?? delivery.channel_id} />
            ))}
          </ul>
        ) : (
          <p className="p-4 text-sm text-muted">This alert’s rule does not notify any channel.</p>
        )}
      </Card>
    </Page>
  );
}

function Facts({ alert }: { alert: AlertDetail }) {
  return (
    <Card>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2 text-sm">
        <dt className="text-muted">Reason</dt>
        <dd>{alert.reason || "–"}</dd>
        <dt className="text-muted">About</dt>
        <dd>
          {alert.subject.kind === "schedule" ? (
            <Link to={`/schedules/${alert.subject.id}`} className="text-accent hover:underline">
              {alert.subject.name}
            </Link>
          ) : alert.subject.kind === "monitor" ? (
            <Link to={`/monitors/${alert.subject.id}`} className="text-accent hover:underline">
              {alert.subject.name}
            </Link>
          ) : (
            alert.subject.name
          )}
        </dd>
        <dt className="text-muted">Opened</dt>
        <dd>
          <Instant at={alert.opened_at} />
          {alert.count === 1 ? null : (
            <>
              , {number(alert.count)} times since <Instant at={alert.first_at} />
            </>
          )}
        </dd>
        {alert.run_id ? (
          <>
            <dt className="text-muted">Last run</dt>
            <dd>
              <Link to={`/runs/${alert.run_id}`} className="text-accent hover:underline">
                See what happened
              </Link>{" "}
              · <Id id={alert.run_id} />
            </dd>
          </>
        ) : null}
        {alert.acknowledged_by ? (
          <>
            <dt className="text-muted">Acknowledged</dt>
            <dd>
              by {alert.acknowledged_by} <Instant at={alert.acknowledged_at} />
            </dd>
          </>
        ) : null}
        {alert.state === "open" && alert.snoozed_until && Date.parse(alert.snoozed_until) > Date.now() ? (
          <>
            <dt className="text-muted">Snoozed</dt>
            <dd>
              until <Instant at={alert.snoozed_until} />
            </dd>
          </>
        ) : null}
        {alert.resolved_at ? (
          <>
            <dt className="text-muted">Resolved</dt>
            <dd>
              <Instant at={alert.resolved_at} />
              {alert.resolved_by ? ` by ${alert.resolved_by}` : null}
            </dd>
          </>
        ) : null}
      </dl>
    </Card>
  );
}

function Message({ delivery, name }: { delivery: AlertDelivery; name: string }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
      <span className="font-medium">{name}</span>
      <span className="text-muted">{delivery.event.replaceAll("_", " ")}</span>
      <span>
        {delivery.state === "pending" && delivery.next_attempt_at ? (
          <>
            next attempt <Instant at={delivery.next_attempt_at} as="relative" />
          </>
        ) : (
          delivery.state
        )}
      </span>
      {delivery.sent_at ? <Instant at={delivery.sent_at} /> : null}
      {delivery.grouped > 1 ? <span className="text-muted">one message about {number(delivery.grouped)}</span> : null}
      {delivery.error ? <span className="min-w-0 text-failed-ink">{delivery.error}</span> : null}
    </li>
  );
}
