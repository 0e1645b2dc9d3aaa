import type { WorkerStatus } from "@/api/schema";
import { number } from "@/time/moment";

const MOST = 120;

/** One cell for each slot of a worker: filled while it works. */
export function Slots({ worker }: { worker: WorkerStatus }) {
  const shown = Math.min(worker.slots, MOST);
  // With many slots, each cell represents several.
  const busy = worker.slots ? Math.round((worker.in_flight / worker.slots) * shown) : 0;
  const filled = worker.in_flight ? Math.max(busy, 1) : 0;
  return (
    <span
      role="img"
      aria-label={`${worker.in_flight} of ${worker.slots} slots busy`}
      title={`${number(worker.in_flight)} of ${number(worker.slots)} slots busy`}
      className="flex max-w-[420px] flex-wrap gap-[2px]"
    >
      {Array.from({ length: shown }, (_, index) => (
        <span
          key={index}
          className={index < filled ? "h-2.5 w-2.5 rounded-[2px] bg-running" : "h-2.5 w-2.5 rounded-[2px] bg-line"}
        />
      ))}
    </span>
  );
}
