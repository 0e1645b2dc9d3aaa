import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import type { Run } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { DataTable } from "@/parts/table/DataTable";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";

import { runColumns } from "../list/columns";

const rowId = (run: Run): string => run.id;

/** The runs that a run follows, those that follow it, its repeats, and runs with the same error fingerprint. */
export function RelatedRuns({ run }: { run: Run }) {
  const zone = useZone();
  const q = run.fingerprint ? `fingerprint:${run.fingerprint}` : `parent:${run.id}`;
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["runs", "related", run.id, q],
    queryFn: async ({ signal }) => {
      const [parents, children, repeats, alike] = await Promise.all([
        ask("/api/runs/{run_id}/parents", { params: { run_id: run.id }, signal }),
        ask("/api/runs/{run_id}/children", { params: { run_id: run.id }, query: { limit: 50 }, signal }),
        ask("/api/runs", { query: { q: `parent:${run.id}`, limit: 20 }, signal }),
        run.fingerprint
          ? ask("/api/runs", { query: { q, limit: 30 }, signal })
          : Promise.resolve({ items: [], next_cursor: null }),
      ]);
      const all = [...parents.items, ...children.items, ...repeats.items, ...alike.items];
      return all.filter((item, at) => item.id !== run.id && all.findIndex((other) => other.id === item.id) === at);
    },
  });
  const columns = useMemo(() => runColumns(mark(Date.now(), zone)), [zone]);
  return (
    <DataTable
      label="Related runs"
      fill={false}
      columns={columns}
      rows={data ?? []}
      rowId={rowId}
      href={(repeat) => `/runs/${repeat.id}`}
      loading={isPending}
      error={error}
      onRetry={() => void refetch()}
      empty={
        <Empty title="No related runs">
          Runs before and after it in a chain, retries, replays and runs with the same error are listed here.
        </Empty>
      }
    />
  );
}
