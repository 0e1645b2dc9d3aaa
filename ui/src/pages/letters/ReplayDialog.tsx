import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Bulk, BulkDryRun, BulkRequest } from "@/api/calls";
import { ask, freshKey } from "@/api/client";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { ErrorCard } from "@/parts/ErrorCard";
import { Go } from "@/parts/Go";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { number } from "@/time/moment";

import { Band } from "../bulk/Band";
import { Controls } from "../bulk/Controls";
import { over, useBulkObject } from "../bulk/useBulkObject";

export interface Which {
  filter?: string;
  ids?: string[];
}

const RATES = ["1", "5", "20", "50"] as const;

/** Rehearses, then replays at a bounded pace, and shows how it goes. */
export function ReplayDialog({ which, onClose }: { which: Which | null; onClose: () => void }) {
  return (
    <Modal open={which !== null} onClose={onClose} title="Replay dead letters" wide>
      {which ? <Steps which={which} onClose={onClose} /> : null}
    </Modal>
  );
}

function Steps({ which, onClose }: { which: Which; onClose: () => void }) {
  const [bulk, setBulk] = useState<string | null>(null);
  return bulk ? <Going id={bulk} onClose={onClose} /> : <Asking which={which} onClose={onClose} onStarted={(made) => setBulk(made.id)} />;
}

function Asking({ which, onClose, onStarted }: { which: Which; onClose: () => void; onStarted: (bulk: Bulk) => void }) {
  const [rate, setRate] = useState<(typeof RATES)[number]>("5");
  const [order, setOrder] = useState<"oldest" | "newest">("oldest");
  const [stopAfter, setStopAfter] = useState("3");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(freshKey);
  const request: BulkRequest = { action: "replay", ...which, rate: Number(rate), order, stop_after: Number.parseInt(stopAfter, 10) || null };
  const rehearsal = useQuery({
    queryKey: ["rehearsal", which],
    queryFn: ({ signal }) => ask<BulkDryRun>("/api/bulk", { method: "POST", body: { ...request, dry_run: true }, signal }),
    staleTime: 0,
    retry: false,
  });
  const count = rehearsal.data?.count;
  const begin = async (): Promise<void> => {
    setBusy(true);
    try {
      onStarted(await ask<Bulk>("/api/bulk", { method: "POST", body: { ...request, ...(which.filter === undefined ? {} : { expect: count }) }, once: key }));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 text-sm">
        <span className="flex items-center gap-2">
          A second <Segments label="How many a second" value={rate} onChange={setRate} choices={RATES.map((one) => [one, one] as const)} />
        </span>
        <span className="flex items-center gap-2">
          Order
          <Segments
            label="Order"
            value={order}
            onChange={setOrder}
            choices={[
              ["oldest", "Oldest first"],
              ["newest", "Newest first"],
            ]}
          />
        </span>
        <label className="flex items-center gap-2">
          Stop after
          <input inputMode="numeric" value={stopAfter} onChange={(event) => setStopAfter(event.target.value.replace(/\D/g, ""))} className="h-7 w-14 rounded border bg-bg px-2 text-right" />
          have failed
        </label>
      </div>
      {rehearsal.error ? <ErrorCard error={rehearsal.error} what="The rehearsal failed" onRetry={() => void rehearsal.refetch()} /> : null}
      {error ? <ErrorCard error={error} what="Nothing was replayed" bar /> : null}
      <div className="rounded border bg-surface px-3 py-2 text-sm">
        {rehearsal.data ? (
          <>
            <p>
              Rehearsed: {number(rehearsal.data.count)} would be sent{rehearsal.data.hosts.length ? ` to ${rehearsal.data.hosts.join(", ")}` : ""}. Each becomes a new run with a fresh budget of retries; its letter stays until that run succeeds.
            </p>
            {rehearsal.data.warnings.map((one) => (
              <p key={one} className="mt-1 text-attention-ink">
                {one}
              </p>
            ))}
          </>
        ) : (
          <Skeleton className="h-4 w-64" />
        )}
      </div>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Leave as they are</Button>
        <Button type="submit" kind="primary" busy={busy} disabled={!count}>
          Replay {count === undefined ? "" : number(count)}
        </Button>
      </div>
    </form>
  );
}

function Going({ id, onClose }: { id: string; onClose: () => void }) {
  const { data: bulk, error } = useBulkObject(id);
  if (!bulk) return error ? <ErrorCard error={error} /> : <Skeleton className="h-8 w-full" />;
  return (
    <div className="flex flex-col gap-4">
      <Band bulk={bulk} />
      {bulk.reason ? <p className="text-sm text-attention-ink">{bulk.reason}</p> : null}
      <div className="flex items-center justify-end gap-2">
        <Go to={`/bulk/${bulk.id}`} className="mr-auto text-sm text-accent hover:underline">
          Details
        </Go>
        <Controls bulk={bulk} />
        <Button kind={over(bulk) ? "primary" : "plain"} onClick={onClose}>
          {over(bulk) ? "Done" : "Close, it goes on"}
        </Button>
      </div>
    </div>
  );
}
