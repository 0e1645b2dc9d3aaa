import { LogOut } from "lucide-react";
import { useMemo, useState } from "react";

import type { WorkerStatus } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyButton } from "@/parts/copy/CopyButton";
import { cx } from "@/parts/cx";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { useCommand } from "@/parts/useCommand";
import { millis, number } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { Slots } from "./Slots";

const FADED = 30_000;
const START = "foliot worker --queues default";

/** The workers with their slots; one that has stopped reporting is dimmed. */
export function WorkerTable({ workers }: { workers: readonly WorkerStatus[] }) {
  const now = useNow(5000);
  const [stale, setStale] = useState(false);
  const [alive, gone] = useMemo(() => {
    const old = (worker: WorkerStatus): boolean => worker.state === "stale" || now - millis(worker.seen_at) > 300_000;
    return [workers.filter((worker) => !old(worker)), workers.filter(old)];
  }, [workers, now]);
  const [draining, setDraining] = useState<WorkerStatus | null>(null);
  const [act] = useCommand();
  const may = usePermission("write:house");
  if (!alive.some((worker) => worker.slots > 0)) {
    return (
      <Empty
        title="No workers connected"
        actions={
          <span className="flex items-center gap-2 rounded border bg-surface px-3 py-1.5 font-mono text-sm">
            {START} <CopyButton text={START} />
          </span>
        }
      >
        Runs wait until a worker connects. Start one:
      </Empty>
    );
  }
  const row = (worker: WorkerStatus) => (
    <li
      key={worker.id}
      className={cx(
        "flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3",
        now - millis(worker.seen_at) > FADED && "opacity-60",
      )}
    >
      <span className="w-64 min-w-0">
        <span className="block truncate font-mono text-xs">{worker.id}</span>
        <span className="text-xs text-muted">
          {worker.role === "up" ? "all-in-one" : worker.role} @ {worker.host}
          {worker.wish ? <span className="text-attention-ink"> · {worker.wish} requested</span> : null}
        </span>
      </span>
      <span className="min-w-0 flex-1 basis-60">
        {worker.slots ? (
          <Slots worker={worker} />
        ) : (
          <span className="text-xs text-muted">scheduler only, runs nothing</span>
        )}
      </span>
      <span className="w-40 text-xs text-muted">
        <Link
          to={`/runs?q=${encodeURIComponent(`state:running worker:${worker.id}`)}`}
          className="hover:text-ink hover:underline"
        >
          {number(worker.in_flight)} of {number(worker.slots)} busy
        </Link>
        <br />
        {worker.queues?.length ? worker.queues.join(", ") : "every queue"}
      </span>
      <span className="w-36 text-xs text-muted">
        Last heartbeat: <Instant at={worker.seen_at} as="relative" />
        <br />
        started <Instant at={worker.started_at} />
      </span>
      {may && worker.role === "worker" && !worker.wish ? (
        <Button acts size="small" icon={<LogOut size={12} aria-hidden />} onClick={() => setDraining(worker)}>
          Drain
        </Button>
      ) : null}
    </li>
  );
  return (
    <>
      <ul className="divide-y">{alive.map(row)}</ul>
      {gone.length ? (
        <div className="border-t">
          <button
            type="button"
            aria-expanded={stale}
            onClick={() => setStale(!stale)}
            className="px-4 py-2 text-xs text-muted hover:text-ink"
          >
            {stale ? "Hide" : "Show"} {number(gone.length)} silent for more than 5 minutes
          </button>
          {stale ? <ul className="divide-y">{gone.map(row)}</ul> : null}
        </div>
      ) : null}
      <Confirm
        open={draining !== null}
        onClose={() => setDraining(null)}
        title="Drain this worker?"
        action="Drain"
        onConfirm={() =>
          act(
            "POST",
            "/api/workers/{node_id}/drain",
            { params: { node_id: draining?.id ?? "" } },
            "Draining: it stops when its runs finish",
          )
        }
      >
        It takes no new runs, finishes its current ones and stops. Other workers take over what is waiting.
      </Confirm>
    </>
  );
}
