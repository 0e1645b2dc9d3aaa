import type { Schedule } from "@/api/schema";
import type { Column } from "@/parts/table/DataTable";

import { AverageCell, NameCell, NextCell, RatioCell, StripCell, WhenCell } from "./cells";

export function columnsOf(zoneMark: string, onTag: (tag: string) => void): Column<Schedule>[] {
  return [
    {
      id: "name",
      header: "Name",
      width: "minmax(200px, 1.4fr)",
      card: "lead",
      cell: (row) => <NameCell schedule={row} onTag={onTag} />,
      order: "name",
    },
    {
      id: "when",
      header: "When",
      width: "minmax(200px, 1.4fr)",
      card: "meta",
      cell: (row) => <WhenCell schedule={row} />,
    },
    {
      id: "next",
      header: `Next run (${zoneMark})`,
      width: "minmax(178px, 1fr)",
      card: "side",
      cell: (row) => <NextCell schedule={row} />,
      order: "next_run_at",
    },
    {
      id: "last",
      header: "Last 20 runs",
      width: "124px",
      card: "meta",
      order: "-last_run_at",
      cell: (row) => <StripCell schedule={row} />,
    },
    { id: "ok", header: "OK", width: "60px", right: true, card: "none", cell: (row) => <RatioCell schedule={row} /> },
    {
      id: "avg",
      header: "Avg",
      width: "80px",
      right: true,
      card: "none",
      cell: (row) => <AverageCell schedule={row} />,
    },
    {
      id: "queue",
      header: "Queue / owner",
      width: "112px",
      card: "none",
      cell: (row) => (
        <div className="min-w-0 text-muted">
          <div className="truncate">{row.queue}</div>
          <div className="truncate text-xs" title={row.user_id ? `Owned by ${row.user_id}` : undefined}>
            {row.user_id}
          </div>
        </div>
      ),
    },
  ];
}
