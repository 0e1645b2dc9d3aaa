import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Page, Run } from "@/api/calls";
import { ask } from "@/api/client";
import { DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";

import { runColumns } from "../runs/columns";

const rowId = (run: Run): string => run.id;

/** Repeats of this run, and those that failed alike. */
export function Related({ run }: { run: Run }) {
  const zone = useZone();
  const q = run.fingerprint ? `fingerprint:${run.fingerprint}` : `parent:${run.id}`;
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["runs", "related", run.id, q],
    queryFn: async ({ signal }) => {
      const [repeats, alike] = await Promise.all([
        ask<Page<Run>>("/api/runs", { query: { q: `parent:${run.id}`, limit: 20 }, signal }),
        run.fingerprint
          ? ask<Page<Run>>("/api/runs", { query: { q, limit: 30 }, signal })
          : Promise.resolve({ items: [], next_cursor: null }),
      ]);
      return [
        ...repeats.items,
        ...alike.items.filter((one) => one.id !== run.id && !repeats.items.some((other) => other.id === one.id)),
      ];
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
      href={(one) => `/runs/${one.id}`}
      loading={isPending}
      error={error}
      onRetry={() => void refetch()}
      empty={
        <Empty title="No other run is related to this one">
          Repeats of it, and runs that failed alike, are listed here.
        </Empty>
      }
    />
  );
}
