import { Eye } from "lucide-react";
import { type ReactNode, useMemo } from "react";

import type { WatchDetail } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Sparkline } from "@/parts/chart/Sparkline";
import { Empty } from "@/parts/Empty";
import { INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { useDebounced } from "@/parts/useDebounced";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { problemText } from "./values";

const rowId = (row: WatchDetail): string => row.id;

const COLUMNS: Column<WatchDetail>[] = [
  {
    id: "name",
    header: "Name",
    width: "minmax(180px, 2fr)",
    card: "lead",
    cell: (watch) => (
      <span className="flex min-w-0 flex-col leading-tight">
        <Link to={`/watches/${watch.id}`} className="truncate font-medium hover:underline">
          {watch.name}
        </Link>
        {watch.problem ? (
          <span className="truncate text-xs text-failed-ink">{problemText(watch.problem)}</span>
        ) : watch.when ? (
          <span className="truncate font-mono text-xs text-muted">{watch.when}</span>
        ) : null}
      </span>
    ),
  },
  {
    id: "pages",
    header: "Pages",
    width: "70px",
    right: true,
    card: "none",
    cell: (watch) => number(watch.pages),
  },
  {
    id: "changes",
    header: "Changes",
    width: "80px",
    right: true,
    card: "none",
    cell: (watch) => number(watch.changes),
  },
  {
    id: "change",
    header: "Last change",
    width: "120px",
    card: "side",
    cell: (watch) =>
      watch.last_change_at ? <Instant at={watch.last_change_at} /> : <span className="text-muted">none yet</span>,
  },
  {
    id: "visit",
    header: "Last visit",
    width: "120px",
    card: "none",
    cell: (watch) =>
      watch.last_visit_at ? <Instant at={watch.last_visit_at} /> : <span className="text-muted">none yet</span>,
  },
  {
    id: "next",
    header: "Next visit",
    width: "minmax(160px, 1fr)",
    card: "meta",
    cell: (watch) => (
      <span className="flex min-w-0 flex-col leading-tight">
        {watch.status === "active" ? <Instant at={watch.next_visit_at} /> : <span>{watch.status}</span>}
        <span className="truncate text-xs text-muted">{watch.summary}</span>
      </span>
    ),
  },
  {
    id: "line",
    header: "Over time",
    width: "150px",
    card: "none",
    cell: (watch) =>
      watch.line && watch.line.values.length > 1 ? (
        <Sparkline values={watch.line.values} label={`${watch.line.field} over time`} height={22} />
      ) : null,
  },
];

/** Watches, newest first, with the numbers of the page that changed last. */
export function WatchTable({ add }: { add: ReactNode }) {
  const [q, setQ] = useUrl("q");
  const asked = useDebounced(q, 300);
  const query = useMemo(() => ({ q: asked }), [asked]);
  const list = useLiveList({ path: "/api/watches", query, topic: null, rowId });
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
        label="Watches"
        columns={COLUMNS}
        rows={list.rows}
        rowId={rowId}
        href={(watch) => `/watches/${watch.id}`}
        loading={list.loading}
        error={list.error}
        onRetry={list.refetch}
        hasMore={list.hasMore}
        onMore={list.more}
        newRows={list.newRows}
        onShowNew={list.showNew}
        rowHeight={44}
        fill={false}
        empty={
          q ? (
            <Empty title="No watch matches" actions={<Button onClick={() => setQ("")}>Clear filter</Button>} />
          ) : (
            <Empty icon={Eye} title="No watches" actions={add} cli="watch https://example.com --every 1h">
              A watch visits pages, keeps every version, and lists what changed: prices, texts, new and removed pages.
            </Empty>
          )
        }
      />
    </div>
  );
}
