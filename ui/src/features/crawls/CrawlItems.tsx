import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { JobReport } from "@/api/schema";
import { Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { Json } from "@/parts/Json";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { number } from "@/time/moment";

const STEP = 100;

interface Row {
  place: number;
  item: unknown;
}

const rowId = (row: Row): string => String(row.place);
const brief = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** The items of a crawl: their first fields as columns, the whole item when a row is opened. */
export function CrawlItems({ job }: { job: JobReport }) {
  const [most, setMost] = useState(STEP);
  const [open, setOpen] = useState<Row | null>(null);
  const results = useQuery({
    queryKey: [...queryKeys.run(job.job_id), "items", most],
    queryFn: ({ signal }) =>
      ask("/jobs/{job_id}/results", { params: { job_id: job.job_id }, query: { limit: most }, signal }),
    refetchInterval: job.finished_at ? false : 2000,
    placeholderData: (before) => before,
  });
  const crawl = results.data && "items" in results.data ? results.data : undefined;
  const rows = useMemo(() => (crawl?.items ?? []).map((item, place) => ({ place, item })), [crawl]);
  const columns = useMemo<Column<Row>[]>(() => {
    const first = rows[0]?.item;
    const names = first && typeof first === "object" ? Object.keys(first).slice(0, 5) : [];
    const field = (row: Row, name: string): unknown => (row.item as Record<string, unknown>)[name];
    return names.length
      ? names.map((name, index) => ({
          id: name,
          header: name,
          width: index ? "minmax(100px, 1fr)" : "minmax(160px, 2fr)",
          card: index ? (index === 1 ? "meta" : "none") : "lead",
          cell: (row: Row) => <span className="truncate font-mono text-xs">{brief(field(row, name))}</span>,
        }))
      : [
          {
            id: "item",
            header: "Item",
            card: "lead",
            cell: (row: Row) => <span className="truncate font-mono text-xs">{brief(row.item)}</span>,
          },
        ];
  }, [rows]);
  return (
    <>
      {crawl?.not_kept ? (
        <p className="text-sm text-attention-ink">
          {number(crawl.not_kept)} more were not kept: too large or too many.
        </p>
      ) : null}
      <DataTable
        label="Items"
        columns={columns}
        rows={rows}
        rowId={rowId}
        onOpen={setOpen}
        loading={results.isPending}
        error={results.error}
        onRetry={() => void results.refetch()}
        hasMore={rows.length < (crawl?.total ?? 0) && most < 500}
        onMore={() => setMost(Math.min(most + STEP, 500))}
        fill={false}
        empty={
          <Empty title="No items">
            {job.finished_at ? "The spider returned no items." : "Items appear here while the spider runs."}
          </Empty>
        }
      />
      <Modal open={open !== null} onClose={() => setOpen(null)} title={`Item ${number((open?.place ?? 0) + 1)}`} wide>
        <Json value={open?.item} name="item" />
      </Modal>
    </>
  );
}
