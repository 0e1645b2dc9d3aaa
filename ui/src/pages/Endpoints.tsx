import { useQuery } from "@tanstack/react-query";
import { Webhook } from "lucide-react";
import { useMemo, useState } from "react";

import type { Endpoint, Endpoints as List } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { CopyAs } from "@/parts/CopyAs";
import { type Column, DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { Go } from "@/parts/Go";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { StateBadge } from "@/parts/StateBadge";
import { duration, number } from "@/time/moment";

import { Acts, type Chosen, Dialogs } from "./endpoints/Acts";
import { BreakerBadge, Breakers } from "./endpoints/Breakers";

const PACE = 10_000;
const rowId = (one: Endpoint): string => one.url;

/** Whether those whom webhooks call are well. */
export default function Endpoints() {
  const list = useQuery({
    queryKey: keys.endpoints,
    queryFn: ({ signal }) => ask<List>("/api/endpoints", { signal }),
    refetchInterval: PACE,
  });
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const items = list.data?.items ?? [];
  const failing = items.filter((one) => one.failing_since).length;
  const columns = useMemo<Column<Endpoint>[]>(
    () => [
      {
        id: "url",
        header: "Target",
        width: "minmax(200px, 6fr)",
        card: "lead",
        sort: (one) => one.url,
        cell: (one) => <Address url={one.url} />,
      },
      {
        id: "state",
        header: "Now",
        width: "165px",
        card: "side",
        sort: (one) => one.failing_since ?? "",
        cell: (one) =>
          one.breaker ? (
            <BreakerBadge one={one.breaker} />
          ) : one.failing_since ? (
            <span className="flex items-center gap-1.5" title={one.last_error ?? undefined}>
              <StateBadge state="failed" note="since" />
              <Instant at={one.failing_since} />
            </span>
          ) : (
            <StateBadge state="success" />
          ),
      },
      {
        id: "ratio",
        header: "Succeeded",
        width: "110px",
        right: true,
        card: "meta",
        sort: (one) => one.success_ratio,
        cell: (one) => `${share(one)} of ${number(one.calls)}`,
      },
      {
        id: "took",
        header: "p50 · p95",
        width: "130px",
        right: true,
        card: "none",
        sort: (one) => one.p95_ms,
        cell: (one) => `${duration(one.p50_ms)} · ${duration(one.p95_ms)}`,
      },
      {
        id: "codes",
        header: "How calls ended",
        width: "minmax(120px, 3fr)",
        card: "none",
        cell: (one) => (
          <span className="truncate text-muted">
            {Object.entries(one.codes)
              .map(([code, times]) => `${code} × ${number(times)}`)
              .join(", ")}
          </span>
        ),
      },
      {
        id: "by",
        header: "Called by",
        width: "minmax(90px, 1.5fr)",
        card: "none",
        cell: (one) => <Callers one={one} />,
      },
      {
        id: "secret",
        header: "Secret since",
        width: "100px",
        card: "none",
        sort: (one) => one.secrets?.[0]?.since ?? "",
        cell: (one) => <Secrets one={one} />,
      },
      {
        id: "acts",
        header: <span className="sr-only">Actions</span>,
        width: "28px",
        card: "meta",
        cell: (one) => <Acts one={one} onChoose={setChosen} />,
      },
    ],
    [],
  );
  return (
    <Page
      title="Endpoints"
      state={failing ? "failed" : undefined}
      aside={list.data ? <span className="text-muted">{told(list.data, failing)}</span> : null}
      actions={<CopyAs call={{ method: "GET", path: "/api/endpoints", cli: "endpoints" }} />}
    >
      {list.data?.breakers.length ? <Breakers open={list.data.breakers} /> : null}
      <DataTable
        label="Endpoints"
        columns={columns}
        rows={items}
        rowId={rowId}
        href={(one) => `/runs/${one.last_run_id}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        fill={false}
        empty={
          <Empty icon={Webhook} title="No webhook was called within the last 24 hours">
            Targets stand here by themselves, once a schedule has called them.
          </Empty>
        }
      />
      <Dialogs chosen={chosen} onClose={() => setChosen(null)} />
    </Page>
  );
}

/** Targets of one host differ at their end: where there is no room, the host gives way. */
function Address({ url }: { url: string }) {
  const [host, path] = [url.replace(/^(\w+:\/\/[^/]*).*$/, "$1"), url.replace(/^\w+:\/\/[^/]*/, "")];
  return (
    <span className="flex min-w-0 font-mono text-xs" title={url}>
      <span className="min-w-0 shrink-[999] truncate text-muted">{host}</span>
      <span className="min-w-0 truncate">{path}</span>
    </span>
  );
}

/** Never 100 % while something failed. */
function share(one: Endpoint): string {
  const exact = one.success_ratio * 100;
  return `${one.failed ? Math.min(exact, 99.9).toFixed(1) : 100} %`;
}

function told(list: List, failing: number): string {
  const most = list.total > list.items.length ? `, the worst ${number(list.items.length)} shown` : "";
  const newest = list.whole ? "" : ", by the newest 2,000 runs";
  return `${number(failing)} of ${number(list.total)} failing now${most} · last 24 hours${newest}`;
}

function Callers({ one }: { one: Endpoint }) {
  const [first] = one.schedules;
  if (!first) return <span className="text-muted">no schedule</span>;
  return (
    <span className="truncate">
      <Go to={`/schedules/${first.id}`} className="hover:underline">
        {first.name}
      </Go>
      {one.schedule_count > 1 ? <span className="text-muted"> and {number(one.schedule_count - 1)} more</span> : null}
    </span>
  );
}

/** Since when that has its value which goes into the calls: what signs them, or else what a header holds. */
function Secrets({ one }: { one: Endpoint }) {
  if (!one.secrets) return <span className="text-muted">not for your role</span>;
  const [first] = one.secrets;
  if (!first) return <span className="text-muted">none</span>;
  return (
    <span className="truncate" title={one.secrets.map((each) => each.name).join(", ")}>
      <Instant at={first.since} none="age unknown" />
      {one.secrets.length > 1 ? <span className="text-muted"> and {number(one.secrets.length - 1)} more</span> : null}
    </span>
  );
}
