import { Server } from "lucide-react";
import { useMemo, useState } from "react";

import type { HostStatus } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { useDebounced } from "@/parts/useDebounced";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { HostForm } from "./HostForm";
import { paceOf } from "./pace";

const rowId = (row: HostStatus): string => row.host;

const COLUMNS: Column<HostStatus>[] = [
  {
    id: "host",
    header: "Host",
    width: "minmax(180px, 2fr)",
    card: "lead",
    cell: (host) => (
      <span className="flex min-w-0 flex-col leading-tight">
        <span className="truncate font-medium">{host.host}</span>
        {host.paused_until ? (
          <span className="truncate text-xs text-attention-ink">
            {host.reason ?? "paused because of its responses"}
          </span>
        ) : null}
      </span>
    ),
  },
  {
    id: "pace",
    header: "Pace",
    width: "minmax(150px, 1fr)",
    card: "meta",
    cell: (host) => (
      <span className="flex min-w-0 flex-col leading-tight">
        <span className="truncate">{paceOf(host)}</span>
        {host.slowed ? <span className="text-xs text-attention-ink">slowed down: its responses are slow</span> : null}
        {host.own_rate !== null ? <span className="text-xs text-muted">yours: {host.own_rate}/s</span> : null}
      </span>
    ),
  },
  {
    id: "together",
    header: "Concurrency",
    width: "96px",
    right: true,
    card: "none",
    cell: (host) => number(host.concurrency),
  },
  {
    id: "robots",
    header: "robots.txt",
    width: "110px",
    card: "none",
    cell: (host) =>
      host.robots === "ignore" ? <span className="text-attention-ink">ignored</span> : <span>respected</span>,
  },
  {
    id: "render",
    header: "Browser",
    width: "90px",
    card: "none",
    cell: (host) => host.render ?? <span className="text-muted">default</span>,
  },
  {
    id: "waiting",
    header: "Waiting",
    width: "minmax(90px, 1fr)",
    card: "side",
    cell: (host) => (
      <span className="flex min-w-0 flex-col leading-tight" title={waitingFor(host)}>
        <span>
          {number(host.waiting)}
          <span className="md:hidden"> waiting</span>
        </span>
        {host.waiting_by.length > 1 ? <span className="truncate text-xs text-muted">{waitingFor(host)}</span> : null}
      </span>
    ),
  },
  {
    id: "next",
    header: "Next request",
    width: "140px",
    card: "none",
    cell: (host) =>
      host.next_at ? <Instant at={host.next_at} as="relative" /> : <span className="text-muted">now</span>,
  },
];

const waitingFor = (host: HostStatus): string =>
  host.waiting_by.map((one) => `${one.tenant_id} ${number(one.requests)}`).join(", ");

/** Hosts by name: what each allows, when it may be requested next, and what waits. */
export function HostTable() {
  const [q, setQ] = useUrl("q");
  const asked = useDebounced(q, 300);
  const query = useMemo(() => ({ q: asked }), [asked]);
  const list = useLiveList({ path: "/api/hosts", query, topic: null, rowId });
  const [editing, setEditing] = useState<HostStatus | null>(null);
  return (
    <div className="flex flex-col gap-3">
      <input
        aria-label="Filter by name"
        placeholder="Filter by name"
        value={q}
        onChange={(event) => setQ(event.target.value)}
        className={`${INPUT} max-w-80`}
      />
      <DataTable
        label="Hosts"
        columns={COLUMNS}
        rows={list.rows}
        rowId={rowId}
        onOpen={setEditing}
        loading={list.loading}
        error={list.error}
        onRetry={list.refetch}
        hasMore={list.hasMore}
        onMore={list.more}
        newRows={list.newRows}
        onShowNew={list.showNew}
        rowHeight={48}
        fill={false}
        empty={
          q ? (
            <Empty title="No host matches" actions={<Button onClick={() => setQ("")}>Clear filter</Button>} />
          ) : (
            <Empty icon={Server} title="No hosts yet" cli="host set example.com --rate 2 --concurrency 1">
              A host appears here when something is fetched from it. Articles, pipelines, prices, watches, polite
              webhooks and spiders share its budget of requests. Set one before the first request:
            </Empty>
          )
        }
      />
      <Modal open={editing !== null} onClose={() => setEditing(null)} title={editing?.host ?? ""}>
        {editing ? (
          <HostForm
            host={editing}
            onClose={() => {
              setEditing(null);
              list.refetch();
            }}
          />
        ) : null}
      </Modal>
    </div>
  );
}
