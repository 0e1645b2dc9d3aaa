import { FileArchive } from "lucide-react";
import { useMemo } from "react";

import type { StoredPageInfo } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Empty } from "@/parts/Empty";
import { INPUT } from "@/parts/form/Field";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { useDebounced } from "@/parts/useDebounced";
import { useUrl } from "@/parts/useUrl";
import { bytes } from "@/time/format";

const rowId = (row: StoredPageInfo): string => row.id;

const COLUMNS: Column<StoredPageInfo>[] = [
  {
    id: "url",
    header: "Page",
    width: "minmax(220px, 3fr)",
    card: "lead",
    cell: (page) => (
      <span className="flex min-w-0 flex-col leading-tight">
        <span className="truncate" title={page.url}>
          {page.url.replace(/^https?:\/\//, "")}
        </span>
        <span className="text-xs text-muted">
          <Id id={page.id} />
        </span>
      </span>
    ),
  },
  { id: "status", header: "Status", width: "70px", right: true, card: "none", cell: (page) => page.status || "failed" },
  {
    id: "fetched",
    header: "Fetched",
    width: "130px",
    card: "side",
    cell: (page) => <Instant at={page.fetched_at} />,
  },
  {
    id: "size",
    header: "Size",
    width: "130px",
    right: true,
    card: "meta",
    cell: (page) => `${bytes(page.stored_bytes)} of ${bytes(page.bytes)}`,
  },
  {
    id: "body",
    header: "Download",
    width: "160px",
    card: "none",
    cell: (page) => (
      <span className="flex gap-3">
        <a href={`/api/pages/${page.id}/body`} download className="text-accent hover:underline">
          body
        </a>
        {page.rendered ? (
          <a href={`/api/pages/${page.id}/body?rendered=true`} download className="text-accent hover:underline">
            rendered
          </a>
        ) : null}
      </span>
    ),
  },
  {
    id: "until",
    header: "Kept until",
    width: "130px",
    card: "none",
    cell: (page) => <Instant at={page.expires_at} />,
  },
];

/** Pages that were kept as they came, newest first. */
export function StoredPagesTable() {
  const [q, setQ] = useUrl("pages");
  const asked = useDebounced(q, 500);
  const query = useMemo(() => ({ q: asked }), [asked]);
  const list = useLiveList({ path: "/api/pages", query, topic: null, rowId });
  return (
    <div className="flex flex-col gap-3">
      <span className="flex flex-wrap items-center gap-3">
        <input
          aria-label="Filter"
          placeholder="host:shop.example since:7d status:200"
          value={q}
          onChange={(event) => setQ(event.target.value)}
          className={`${INPUT} max-w-120 font-mono`}
        />
        <a
          href={`/api/pages/export?q=${encodeURIComponent(asked)}`}
          download
          className="text-sm text-accent hover:underline"
        >
          Export as WARC
        </a>
      </span>
      <DataTable
        label="Stored pages"
        columns={COLUMNS}
        rows={list.rows}
        rowId={rowId}
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
            <Empty title="No stored pages match" actions={<Button onClick={() => setQ("")}>Clear filter</Button>} />
          ) : (
            <Empty
              icon={FileArchive}
              title="No stored pages"
              cli="articles submit https://example.com --keep-pages 30d"
            >
              A batch, a watch or a pipeline step with <code className="font-mono">keep_pages: 30d</code> keeps the
              pages that it fetches. You can export them, or read them again with better selectors.
            </Empty>
          )
        }
      />
    </div>
  );
}
