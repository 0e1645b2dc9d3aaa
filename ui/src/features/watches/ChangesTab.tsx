import { FilePenLine } from "lucide-react";
import { useMemo } from "react";

import type { ChangeDetail } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { useDebounced } from "@/parts/useDebounced";
import { useUrl } from "@/parts/useUrl";

import { PageStateBadge } from "./PageStateBadge";
import { shortUrl, shownFields } from "./values";

const rowId = (row: ChangeDetail): string => row.id;
const pageOf = (change: ChangeDetail): string => `/watches/${change.watch_id}/pages/${change.page_id}`;

const COLUMNS: Column<ChangeDetail>[] = [
  {
    id: "kind",
    header: "Change",
    width: "110px",
    card: "lead",
    cell: (change) => <PageStateBadge state={change.kind} />,
  },
  { id: "at", header: "At", width: "130px", card: "side", cell: (change) => <Instant at={change.at} /> },
  {
    id: "what",
    header: "What",
    width: "minmax(200px, 3fr)",
    card: "meta",
    cell: (change) => (
      <span className="flex min-w-0 flex-col leading-tight">
        <Link to={pageOf(change)} className="truncate hover:underline">
          {shownFields(change.fields).join("; ") || change.diff.split("\n").slice(0, 3).join(" / ") || change.kind}
        </Link>
        <span className="truncate text-xs text-muted">{shortUrl(change.url)}</span>
      </span>
    ),
  },
  {
    id: "watch",
    header: "Watch",
    width: "minmax(120px, 1fr)",
    card: "none",
    cell: (change) => (
      <Link to={`/watches/${change.watch_id}`} className="truncate hover:underline">
        {change.watch}
      </Link>
    ),
  },
  {
    id: "matched",
    header: "Counts",
    width: "80px",
    card: "none",
    cell: (change) => (change.matched ? "yes" : <span className="text-muted">no</span>),
  },
];

/** Changes, newest first: of all watches, or of one. */
export function ChangeTable({ q }: { q: string }) {
  const query = useMemo(() => ({ q }), [q]);
  const list = useLiveList({ path: "/api/changes", query, topic: null, rowId });
  return (
    <DataTable
      label="Changes"
      columns={COLUMNS}
      rows={list.rows}
      rowId={rowId}
      href={pageOf}
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
        <Empty icon={FilePenLine} title="No changes" cli="changes --limit 20">
          The first visit to a page is the baseline that later visits are compared with.
        </Empty>
      }
    />
  );
}

/** The list of changes over all watches, with its filter. */
export function ChangesTab() {
  const [q, setQ] = useUrl("changes");
  const asked = useDebounced(q, 400);
  return (
    <div className="flex flex-col gap-3">
      <input
        aria-label="Filter changes"
        placeholder="watch:Shop kind:changed matched:true since:7d"
        value={q}
        onChange={(event) => setQ(event.target.value)}
        className={`${INPUT} max-w-160 font-mono text-xs`}
      />
      <ChangeTable q={asked} />
    </div>
  );
}
