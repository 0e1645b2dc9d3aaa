import { Pause, Play } from "lucide-react";
import { useMemo, useState } from "react";

import type { QueueStatus } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Sparkline } from "@/parts/chart/Sparkline";
import { Confirm } from "@/parts/Confirm";
import { Duration } from "@/parts/Duration";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useCommand } from "@/parts/useCommand";
import { number } from "@/time/moment";

import type { Sample } from "./useQueueHistory";

const rowId = (queue: QueueStatus): string => queue.name;
const runs = (queue: QueueStatus, states: string): string =>
  `/runs?q=${encodeURIComponent(`queue:${queue.name} state:${states}`)}`;

export function QueueTable({
  queues,
  history,
  loading,
  error,
  onRetry,
  onOpen,
}: {
  queues: readonly QueueStatus[];
  history: ReadonlyMap<string, readonly Sample[]>;
  loading: boolean;
  error: unknown;
  onRetry: () => void;
  onOpen: (name: string) => void;
}) {
  const [act, busy] = useCommand();
  const [pausing, setPausing] = useState<QueueStatus | null>(null);
  const [reason, setReason] = useState("");
  const columns = useMemo<Column<QueueStatus>[]>(
    () => [
      {
        id: "name",
        header: "Queue",
        width: "minmax(140px, 1.5fr)",
        card: "lead",
        sort: (queue) => queue.name,
        cell: (queue) => (
          <span className="flex min-w-0 items-center gap-2">
            <span className="truncate font-medium">{queue.name}</span>
            {queue.paused_at ? (
              <StateBadge state="paused" note={queue.paused_by ? `by ${queue.paused_by}` : undefined} />
            ) : null}
          </span>
        ),
      },
      {
        id: "waiting",
        header: "Waiting",
        width: "90px",
        right: true,
        card: "side",
        sort: (queue) => queue.depth,
        cell: (queue) => (
          <Link to={runs(queue, "queued,retrying")} className="hover:underline">
            {number(queue.depth)}
            <span className="md:hidden"> waiting</span>
          </Link>
        ),
      },
      {
        id: "oldest",
        header: "Oldest",
        width: "90px",
        right: true,
        card: "meta",
        cell: (queue) =>
          queue.oldest ? <Duration since={queue.oldest} /> : <span className="text-muted max-md:hidden">–</span>,
      },
      {
        id: "flight",
        header: "Running",
        width: "90px",
        right: true,
        card: "none",
        sort: (queue) => queue.in_flight,
        cell: (queue) => (
          <Link to={runs(queue, "running")} className="hover:underline">
            {number(queue.in_flight)}
          </Link>
        ),
      },
      {
        id: "minute",
        header: "Per minute",
        width: "100px",
        right: true,
        card: "none",
        cell: (queue) => (queue.per_minute === null ? "–" : number(queue.per_minute)),
      },
      {
        id: "trend",
        header: "Waiting, live",
        width: "140px",
        card: "none",
        cell: (queue) => (
          <Sparkline
            values={(history.get(queue.name) ?? []).map((sample) => sample.depth)}
            label={`Waiting in ${queue.name} since this page was opened`}
            height={20}
          />
        ),
      },
      {
        id: "workers",
        header: "Served by",
        width: "minmax(120px, 1fr)",
        card: "meta",
        cell: (queue) =>
          queue.workers === null ? (
            <span className="text-muted">–</span>
          ) : queue.workers.length ? (
            `${number(queue.workers.length)} ${queue.workers.length === 1 ? "worker" : "workers"}`
          ) : (
            <span className="text-attention-ink">no worker</span>
          ),
      },
      {
        id: "do",
        header: "",
        width: "110px",
        right: true,
        card: "none",
        cell: (queue) =>
          queue.paused_at ? (
            <Button
              acts
              needs="write:queue"
              size="small"
              icon={<Play size={12} aria-hidden />}
              disabled={busy}
              onClick={stopping(
                () =>
                  void act(
                    "POST",
                    "/api/queues/{queue}/resume",
                    { params: { queue: queue.name } },
                    `Resumed ${queue.name}`,
                  ),
              )}
            >
              Resume
            </Button>
          ) : (
            <Button
              acts
              needs="write:queue"
              size="small"
              icon={<Pause size={12} aria-hidden />}
              disabled={busy}
              onClick={stopping(() => setPausing(queue))}
            >
              Pause
            </Button>
          ),
      },
    ],
    [act, busy, history],
  );
  return (
    <>
      <DataTable
        label="Queues"
        columns={columns}
        rows={queues}
        rowId={rowId}
        onOpen={(queue) => onOpen(queue.name)}
        loading={loading}
        error={error}
        onRetry={onRetry}
        fill={false}
      />
      <Confirm
        open={pausing !== null}
        onClose={() => setPausing(null)}
        title={`Pause ${pausing?.name ?? ""}?`}
        action="Pause"
        onConfirm={async () => {
          await act(
            "POST",
            "/api/queues/{queue}/pause",
            { params: { queue: pausing?.name ?? "" }, body: { reason } },
            `Paused ${pausing?.name ?? ""}`,
          );
          setReason("");
        }}
      >
        <p>Schedules keep creating runs, which wait in the queue. Runs in progress finish.</p>
        <label className="mt-3 flex flex-col gap-1 text-ink">
          Reason (shown with the queue)
          <input
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            maxLength={500}
            className="h-8 rounded border bg-bg px-2"
          />
        </label>
      </Confirm>
    </>
  );
}

/** Keeps a press on a button from opening its row. */
const stopping =
  (act: () => void) =>
  (event: React.MouseEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    act();
  };

export function Paused({ queue }: { queue: QueueStatus }) {
  if (!queue.paused_at) return null;
  return (
    <p className="text-sm text-attention-ink">
      Paused {queue.paused_by ? `by ${queue.paused_by} ` : ""}
      <Instant at={queue.paused_at} />
      {queue.reason ? `: “${queue.reason}”` : ""}
    </p>
  );
}
