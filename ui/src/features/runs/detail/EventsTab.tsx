import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import type { RunEvent, Run } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";

const rowId = (event: RunEvent): string => String(event.seq);

/** The events of a run: changes of state and the first progress events; log lines are in the log. */
export function EventsTab({ run }: { run: Run }) {
  const zone = useZone();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["run", run.id, "events", run.state, run.attempt],
    queryFn: ({ signal }) =>
      ask("/api/runs/{run_id}/events", { params: { run_id: run.id }, query: { limit: 200 }, signal }),
  });
  const columns: Column<RunEvent>[] = [
    {
      id: "seq",
      header: "No.",
      width: "64px",
      right: true,
      card: "none",
      cell: (event) => <span className="font-mono text-xs text-muted">{event.seq}</span>,
    },
    {
      id: "at",
      header: `At (${mark(Date.now(), zone)})`,
      width: "120px",
      card: "side",
      cell: (event) => <Instant at={event.at} as="clock" precision="milli" />,
    },
    {
      id: "what",
      header: "Event",
      width: "140px",
      card: "lead",
      cell: (event) => (event.state ? <StateBadge state={event.state} still /> : event.type),
    },
    {
      id: "attempt",
      header: "Attempt",
      width: "64px",
      right: true,
      card: "none",
      cell: (event) => event.attempt ?? "–",
    },
    {
      id: "message",
      header: "Details",
      width: "minmax(200px, 1fr)",
      cell: (event) => (
        <span title={event.message}>{event.message || (event.data ? JSON.stringify(event.data) : "")}</span>
      ),
    },
  ];
  return (
    <DataTable
      label="Events"
      fill={false}
      columns={columns}
      rows={(data?.items ?? []).filter((event) => event.type !== "log")}
      rowId={rowId}
      loading={isPending}
      error={error}
      onRetry={() => void refetch()}
      empty={<Empty title="No events yet" />}
    />
  );
}
