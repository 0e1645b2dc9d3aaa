import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import type { Run } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { DataTable } from "@/parts/table/DataTable";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";

import { runColumns } from "../list/columns";

/** A run that another one names; none when it was removed. */
const one = (id: string | null, signal: AbortSignal): Promise<Run[]> =>
  id?.startsWith("run_")
    ? ask("/api/runs/{run_id}", { params: { run_id: id }, signal }).then(
        (found) => [found],
        () => [],
      )
    : Promise.resolve([]);

const rowId = (run: Run): string => run.id;

/** The runs around it in a chain, the original of a replay, the repeats of a run, and runs with the same error. */
export function RelatedRuns({ run }: { run: Run }) {
  const zone = useZone();
  const q = run.fingerprint ? `fingerprint:${run.fingerprint}` : `parent:${run.id}`;
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["runs", "related", run.id, q],
    queryFn: async ({ signal }) => {
      const [parents, children, original, resolved, repeats, alike] = await Promise.all([
        ask("/api/runs/{run_id}/parents", { params: { run_id: run.id }, signal }),
        ask("/api/runs/{run_id}/children", { params: { run_id: run.id }, query: { limit: 50 }, signal }),
        one(run.parent_id, signal),
        one(run.resolved_by, signal),
        ask("/api/runs", { query: { q: `parent:${run.id}`, limit: 20 }, signal }),
        run.fingerprint
          ? ask("/api/runs", { query: { q, limit: 30 }, signal })
          : Promise.resolve({ items: [], next_cursor: null }),
      ]);
      const all = [
        ...original,
        ...resolved,
        ...parents.items,
        ...children.items,
        ...repeats.items,
        ...alike.items,
      ].filter((item) => item.id !== run.id);
      return [...new Map(all.map((item) => [item.id, item])).values()];
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
          The original of a replay, replays of this run, runs before and after it in a chain, and runs with the same
          error appear here.
        </Empty>
      }
    />
  );
}
