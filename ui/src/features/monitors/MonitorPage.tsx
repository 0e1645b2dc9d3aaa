import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { ExpectedPing, MonitorDetail, MonitorPing } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { CopyButton } from "@/parts/copy/CopyButton";
import { cx } from "@/parts/cx";
import { Duration } from "@/parts/Duration";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { absolute, duration, number } from "@/time/moment";

import { pingLines } from "./pingLines";
import { StatusBadge } from "./StatusBadge";

const CRUMBS = [{ label: "Monitors", to: "/monitors" }];

/** One monitor: its status, how to ping it, and the pings that came. */
export default function MonitorPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const monitor = useQuery({
    queryKey: queryKeys.monitor(id),
    queryFn: ({ signal }) => ask("/api/monitors/{monitor_id}", { params: { monitor_id: id }, signal }),
    refetchInterval: 5000,
  });
  if (monitor.error)
    return (
      <Page title="Monitor" crumbs={CRUMBS}>
        <ErrorCard error={monitor.error} what="Could not load the monitor" onRetry={() => void monitor.refetch()} />
      </Page>
    );
  if (monitor.isPending)
    return (
      <Page title="Monitor" crumbs={CRUMBS}>
        <SkeletonRows rows={4} />
      </Page>
    );
  return (
    <Page
      title={monitor.data.name}
      crumbs={CRUMBS}
      aside={<StatusBadge status={monitor.data.status} />}
      actions={
        <>
          <Actions monitor={monitor.data} />
          <CopyAs
            call={{ verb: "Show this monitor", method: "GET", path: `/api/monitors/${id}`, cli: `monitor show ${id}` }}
          />
        </>
      }
    >
      <div className="grid gap-4 lg:grid-cols-2">
        <Facts monitor={monitor.data} />
        <Address monitor={monitor.data} />
      </div>
      <Expected id={id} />
      <Pings id={id} />
    </Page>
  );
}

function Actions({ monitor }: { monitor: MonitorDetail }) {
  const may = usePermission("write:monitor");
  const go = useNavigateTo();
  const [act, busy] = useCommand();
  const [deleting, setDeleting] = useState(false);
  if (!may) return null;
  const params = { monitor_id: monitor.id };
  return (
    <>
      {monitor.status === "paused" ? (
        <Button
          acts
          busy={busy}
          onClick={() => void act("POST", "/api/monitors/{monitor_id}/resume", { params }, "Resumed")}
        >
          Resume
        </Button>
      ) : (
        <Button
          acts
          busy={busy}
          onClick={() => void act("POST", "/api/monitors/{monitor_id}/pause", { params }, "Paused")}
        >
          Pause
        </Button>
      )}
      <Button acts kind="danger" onClick={() => setDeleting(true)}>
        Delete…
      </Button>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        danger
        title={`Delete ${monitor.name}?`}
        action="Delete"
        onConfirm={async () => {
          const gone = await act("DELETE", "/api/monitors/{monitor_id}", { params }, "Deleted");
          if (gone) go("/monitors");
          return gone;
        }}
      >
        Its pings are deleted too, and its address stops working.
      </Confirm>
    </>
  );
}

function Facts({ monitor }: { monitor: MonitorDetail }) {
  return (
    <Card title="Schedule">
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2 text-sm">
        <dt className="text-muted">When</dt>
        <dd>{monitor.summary}</dd>
        <dt className="text-muted">Grace time</dt>
        <dd>{duration(monitor.grace_seconds * 1000)}</dd>
        <dt className="text-muted">Last ping</dt>
        <dd>
          {monitor.last_ping_at ? <Instant at={monitor.last_ping_at} /> : "none yet"}
          {monitor.last_duration_ms !== null ? (
            <>
              {", the job took "}
              <Duration ms={monitor.last_duration_ms} />
            </>
          ) : null}
        </dd>
        {monitor.started_at ? (
          <>
            <dt className="text-muted">Running for</dt>
            <dd>
              <Duration since={monitor.started_at} />
            </dd>
          </>
        ) : null}
        <dt className="text-muted">Next ping</dt>
        <dd>{monitor.next_expected_at ? <Instant at={monitor.next_expected_at} /> : "not expected yet"}</dd>
        <dt className="text-muted">Pings</dt>
        <dd>{number(monitor.pings)}</dd>
        <dt className="text-muted">Id</dt>
        <dd>
          <Id id={monitor.id} />
        </dd>
      </dl>
    </Card>
  );
}

function Address({ monitor }: { monitor: MonitorDetail }) {
  if (monitor.ping_url === null)
    return (
      <Card title="How to ping it">
        <p className="text-sm text-muted">The address is shown only to members who may change monitors.</p>
      </Card>
    );
  return (
    <Card title="How to ping it">
      <dl className="flex flex-col gap-3 text-sm">
        {pingLines(monitor.ping_url).map(([label, text]) => (
          <div key={label} className="flex flex-col gap-1">
            <dt className="text-xs text-muted">{label}</dt>
            <dd className="flex items-start gap-2">
              <code className="min-w-0 flex-1 rounded border bg-surface px-2 py-1 font-mono text-xs break-all">
                {text}
              </code>
              <CopyButton text={text} size="small" />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

const LOOKS: Record<ExpectedPing["outcome"], string> = {
  answered: "bg-success",
  late: "bg-attention",
  failed: "bg-failed",
  missed: "border border-attention border-dashed",
  planned: "border border-neutral",
};

/** The times at which pings were expected, oldest first, as blocks, and the next ones. */
function Expected({ id }: { id: string }) {
  const zone = useZone();
  const expected = useQuery({
    queryKey: queryKeys.expectedPings(id),
    queryFn: ({ signal }) =>
      ask("/api/monitors/{monitor_id}/instants", { params: { monitor_id: id }, query: { limit: 60 }, signal }),
    refetchInterval: 5000,
  });
  const items = expected.data?.items ?? [];
  if (!items.length) return null;
  const missed = items.filter((one) => one.outcome === "missed").length;
  return (
    <Card
      title="Expected pings"
      aside={
        <ul className="flex flex-wrap gap-x-3">
          {[...new Set(items.map((one) => one.outcome))].map((outcome) => (
            <li key={outcome} className="flex items-center gap-1">
              <span aria-hidden className={cx("h-3 w-1.5 rounded-xs", LOOKS[outcome])} />
              {outcome}
            </li>
          ))}
        </ul>
      }
    >
      <ol
        className="flex flex-wrap gap-1"
        aria-label={`${number(items.length)} expected times, ${number(missed)} missed`}
      >
        {items.map((one) => (
          <li
            key={`${one.at} ${one.ping_id ?? one.outcome}`}
            title={`${absolute(one.at, zone, Date.now())}: ${one.outcome}`}
            className={cx("h-5 w-2.5 rounded-sm", LOOKS[one.outcome])}
          >
            <span className="sr-only">
              {absolute(one.at, zone, Date.now())}: {one.outcome}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Pings({ id }: { id: string }) {
  const pings = useQuery({
    queryKey: queryKeys.pings(id),
    queryFn: ({ signal }) =>
      ask("/api/monitors/{monitor_id}/pings", { params: { monitor_id: id }, query: { limit: 100 }, signal }),
    refetchInterval: 5000,
  });
  return (
    <Card title="Pings" flush>
      {pings.error ? (
        <div className="p-4">
          <ErrorCard error={pings.error} what="Could not load pings" onRetry={() => void pings.refetch()} />
        </div>
      ) : pings.isPending ? (
        <SkeletonRows rows={3} />
      ) : pings.data.items.length ? (
        <ul className="divide-y">
          {pings.data.items.map((ping) => (
            <PingRow key={ping.id} monitor={id} ping={ping} />
          ))}
        </ul>
      ) : (
        <p className="p-4 text-sm text-muted">No pings yet. Run one of the lines above.</p>
      )}
    </Card>
  );
}

const INK: Record<MonitorPing["kind"], string> = {
  success: "text-success-ink",
  fail: "text-failed-ink",
  start: "text-muted",
  log: "text-muted",
};

function PingRow({ monitor, ping }: { monitor: string; ping: MonitorPing }) {
  const [open, setOpen] = useState(false);
  const whole = useQuery({
    queryKey: queryKeys.ping(ping.id),
    queryFn: ({ signal }) =>
      ask("/api/monitors/{monitor_id}/pings/{ping_id}", { params: { monitor_id: monitor, ping_id: ping.id }, signal }),
    enabled: open,
    staleTime: Infinity,
  });
  const word = ping.exit_code === null ? ping.kind : `exit code ${ping.exit_code}`;
  return (
    <li className="px-4 py-2 text-sm">
      <div className="flex min-h-6 flex-wrap items-center gap-x-4 gap-y-1">
        <span className="md:w-44">
          <Instant at={ping.at} />
        </span>
        <span className={cx("md:w-20", INK[ping.kind])}>{word}</span>
        <span className="md:w-16">{ping.duration_ms !== null ? <Duration ms={ping.duration_ms} /> : null}</span>
        <span className="min-w-0 truncate text-xs text-muted">
          {ping.method} {ping.user_agent}
        </span>
        {ping.body_bytes ? (
          <Button size="small" kind="quiet" className="ml-auto" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide log" : `Log, ${number(ping.body_bytes)} bytes`}
          </Button>
        ) : null}
      </div>
      {open ? (
        <pre
          tabIndex={0}
          className="mt-2 max-h-96 overflow-auto rounded border bg-surface p-3 font-mono text-xs break-all whitespace-pre-wrap"
        >
          {whole.data?.body ?? ping.body}
        </pre>
      ) : null}
    </li>
  );
}
