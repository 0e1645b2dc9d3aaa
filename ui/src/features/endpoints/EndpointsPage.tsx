import { useQuery } from "@tanstack/react-query";
import { Webhook } from "lucide-react";
import { useMemo, useState } from "react";

import { ask, pathOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { EndpointPage, EndpointHealth } from "@/api/schema";
import { CopyAs } from "@/parts/copy/CopyAs";
import { command } from "@/parts/copy/snippets";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useUrl } from "@/parts/useUrl";
import { duration, number } from "@/time/moment";

import { BreakerBadge, Breakers } from "./Breakers";
import { type ChosenAction, EndpointDialogs, EndpointMenu } from "./EndpointActions";

const PACE = 10_000;
const rowId = (endpoint: EndpointHealth): string => endpoint.url;

/** The endpoints that webhooks call, with their success rate and circuit breakers. */
export default function EndpointsPage() {
  const [order, setOrder] = useUrl("sort");
  const list = useQuery({
    queryKey: [...queryKeys.endpoints, order],
    queryFn: ({ signal }) => ask("/api/endpoints", { query: order ? { sort: order } : {}, signal }),
    placeholderData: (before) => before,
    refetchInterval: PACE,
  });
  const [chosen, setChosen] = useState<ChosenAction | null>(null);
  const items = list.data?.items ?? [];
  const failing = items.filter((item) => item.failing_since).length;
  const columns = useMemo<Column<EndpointHealth>[]>(
    () => [
      {
        id: "url",
        header: "Target",
        width: "minmax(200px, 6fr)",
        card: "lead",
        order: "url",
        cell: (endpoint) => <Address url={endpoint.url} />,
      },
      {
        id: "state",
        header: "Status",
        width: "190px",
        card: "side",
        cell: (endpoint) =>
          endpoint.breaker ? (
            <BreakerBadge breaker={endpoint.breaker} />
          ) : endpoint.failing_since ? (
            <span className="flex items-center gap-1.5" title={endpoint.last_error ?? undefined}>
              <StateBadge state="failing" />
              <span className="text-muted">
                since <Instant at={endpoint.failing_since} />
              </span>
            </span>
          ) : (
            <StateBadge state="ok" />
          ),
      },
      {
        id: "ratio",
        header: "Success",
        width: "110px",
        right: true,
        card: "meta",
        order: "success_ratio",
        cell: (endpoint) => `${successShare(endpoint)} of ${number(endpoint.calls)}`,
      },
      {
        id: "took",
        header: "p50 · p95",
        width: "130px",
        right: true,
        card: "none",
        order: "-p95_ms",
        cell: (endpoint) => `${duration(endpoint.p50_ms)} · ${duration(endpoint.p95_ms)}`,
      },
      {
        id: "codes",
        header: "Responses",
        width: "minmax(120px, 3fr)",
        card: "none",
        cell: (endpoint) => (
          <span className="truncate text-muted">
            {Object.entries(endpoint.codes)
              .map(([code, times]) => `${code.replace(/^http_/, "")} × ${number(times)}`)
              .join(", ")}
          </span>
        ),
      },
      {
        id: "by",
        header: "Called by",
        width: "minmax(90px, 1.5fr)",
        card: "none",
        cell: (endpoint) => <Callers endpoint={endpoint} />,
      },
      {
        id: "secret",
        header: "Secret set",
        width: "100px",
        card: "none",
        cell: (endpoint) => <Secrets endpoint={endpoint} />,
      },
      {
        id: "acts",
        header: <span className="sr-only">Actions</span>,
        width: "28px",
        card: "meta",
        cell: (endpoint) => <EndpointMenu endpoint={endpoint} onChoose={setChosen} />,
      },
    ],
    [],
  );
  return (
    <Page
      title="Endpoints"
      state={failing ? "failed" : undefined}
      aside={list.data ? <span className="text-muted">{summaryOf(list.data, failing)}</span> : null}
      actions={
        <CopyAs
          call={{
            verb: "List endpoints",
            method: "GET",
            path: pathOf("/api/endpoints", { query: order ? { sort: order } : {} }),
            cli: command("endpoints", { "--sort": order }),
          }}
        />
      }
    >
      {list.data?.breakers.length ? <Breakers open={list.data.breakers} /> : null}
      <DataTable
        label="Endpoints"
        columns={columns}
        rows={items}
        rowId={rowId}
        order={order}
        onOrder={(to) => setOrder(to, true)}
        href={(endpoint) => `/runs/${endpoint.last_run_id}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        fill={false}
        rowHeight={40}
        empty={
          <Empty
            icon={Webhook}
            title="No webhooks called in the last 24 hours"
            cli={`schedule create hello --every 1m --url ${window.location.origin}/api/echo/hello`}
          >
            Targets appear here once a schedule calls them. Create one:{" "}
            <Link to="/schedules/new" className="text-accent underline">
              new schedule
            </Link>
          </Empty>
        }
      />
      <EndpointDialogs chosen={chosen} onClose={() => setChosen(null)} />
    </Page>
  );
}

/** The host in full, and below it the path: both are needed to recognise a target. */
function Address({ url }: { url: string }) {
  const [, host = url, path = ""] = /^\w+:\/\/([^/]*)(.*)$/.exec(url) ?? [];
  return (
    <span className="flex min-w-0 flex-col leading-tight" title={url}>
      <span className="truncate font-medium">{host}</span>
      <span className="truncate font-mono text-xs text-muted">{path || "/"}</span>
    </span>
  );
}

/** Never 100% while something failed. */
function successShare(endpoint: EndpointHealth): string {
  const exact = endpoint.success_ratio * 100;
  return `${endpoint.failed ? Math.min(exact, 99.9).toFixed(1) : 100}%`;
}

function summaryOf(list: EndpointPage, failing: number): string {
  const most = list.total > list.items.length ? `, the worst ${number(list.items.length)} shown` : "";
  const newest = list.whole ? "" : ", by the newest 2,000 runs";
  return `${number(failing)} of ${number(list.total)} failing now${most} · last 24 hours${newest}`;
}

function Callers({ endpoint }: { endpoint: EndpointHealth }) {
  const [first] = endpoint.schedules;
  if (!first) return <span className="text-muted">no schedule</span>;
  return (
    <span className="truncate">
      <Link to={`/schedules/${first.id}`} className="hover:underline">
        {first.name}
      </Link>
      {endpoint.schedule_count > 1 ? (
        <span className="text-muted"> and {number(endpoint.schedule_count - 1)} more</span>
      ) : null}
    </span>
  );
}

/** The age of the secret that signs the calls, or of the one that a header refers to. */
function Secrets({ endpoint }: { endpoint: EndpointHealth }) {
  if (!endpoint.secrets) return <span className="text-muted">hidden for your role</span>;
  const [first] = endpoint.secrets;
  if (!first) return <span className="text-muted">none</span>;
  return (
    <span className="truncate" title={endpoint.secrets.map((each) => each.name).join(", ")}>
      <Instant at={first.since} none="age unknown" />
      {endpoint.secrets.length > 1 ? (
        <span className="text-muted"> and {number(endpoint.secrets.length - 1)} more</span>
      ) : null}
    </span>
  );
}
