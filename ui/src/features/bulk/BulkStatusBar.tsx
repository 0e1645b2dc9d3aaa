import { X } from "lucide-react";
import { useState } from "react";

import { send } from "@/api/client";
import type { BulkAction } from "@/api/schema";
import { useTopic } from "@/live/live";
import { Button } from "@/parts/Button";
import { Link } from "@/parts/Link";
import { number } from "@/time/moment";

const DOING: Record<string, string> = {
  run: "Running",
  pause: "Pausing",
  resume: "Resuming",
  tag: "Tagging",
  delete: "Deleting",
};

/** The live progress of a bulk action above a list, until it is dismissed. */
export function BulkStatusBar({
  started,
  onClose,
  onOver,
}: {
  started: BulkAction;
  onClose: () => void;
  onOver: () => void;
}) {
  const [bulk, setBulk] = useState(started);
  useTopic(`bulk:${started.id}`, (message) => {
    if (message.type === "gone" || !message.data) return;
    const now = message.data as BulkAction;
    setBulk(now);
    // While the bulk action runs, the list is refreshed by its own topic.
    if (now.state !== "running") onOver();
  });
  const over = bulk.state === "finished" || bulk.state === "stopped";
  return (
    <div role="status" className="flex flex-wrap items-center gap-3 rounded-lg border bg-raised px-3 py-2">
      <span className="font-medium">
        {over ? (bulk.state === "stopped" ? "Stopped" : "Done") : DOING[bulk.action]}: {number(bulk.done)} of{" "}
        {number(bulk.total)}
      </span>
      <div className="h-1.5 min-w-24 flex-1 overflow-hidden rounded-full bg-line">
        <div
          className={bulk.failed ? "h-full bg-attention" : "h-full bg-accent"}
          style={{ width: `${bulk.total ? (100 * bulk.done) / bulk.total : 100}%` }}
        />
      </div>
      <span className="text-muted">
        {number(bulk.ok)} fine{bulk.failed ? `, ${number(bulk.failed)} failed` : ""}
      </span>
      <Link to={`/bulk/${bulk.id}`} className="text-accent hover:underline">
        Details
      </Link>
      {over ? (
        <Button size="small" kind="quiet" aria-label="Close" icon={<X size={14} />} onClick={onClose} />
      ) : (
        <Button
          acts
          size="small"
          onClick={() =>
            void send("POST", "/api/bulk/{bulk_id}/stop", { params: { bulk_id: bulk.id } }).then(
              setBulk,
              () => undefined,
            )
          }
        >
          Stop
        </Button>
      )}
    </div>
  );
}
