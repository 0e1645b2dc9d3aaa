import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { dryRun, send } from "@/api/client";
import type { BulkAction, NewBulkAction, Run } from "@/api/schema";
import { BulkDialog, type Rate, RATES, useStartRequest } from "@/features/bulk/BulkDialog";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { ErrorCard } from "@/parts/ErrorCard";
import { parseObject } from "@/parts/form/json";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useDebounced } from "@/parts/useDebounced";
import { number } from "@/time/moment";

import { DryRunSummary } from "./DryRunSummary";
import { PatchInput } from "./PatchInput";

export interface ReplayTarget {
  filter?: string;
  ids?: string[];
  /** A run of the selection, to show its payload. */
  sample?: Run;
  /** Whether the payload is edited before the replay. */
  edit?: boolean;
}

/** Replays dead letters: dry run, start at a bounded rate, progress. */
export function ReplayDialog({ target, onClose }: { target: ReplayTarget | null; onClose: () => void }) {
  return (
    <Modal
      open={target !== null}
      onClose={onClose}
      title={target?.edit ? "Edit and replay dead letters" : "Replay dead letters"}
      wide
    >
      {target ? (
        <BulkDialog onClose={onClose}>
          {(onStarted) => <ReplayForm target={target} onClose={onClose} onStarted={onStarted} />}
        </BulkDialog>
      ) : null}
    </Modal>
  );
}

function ReplayForm({
  target,
  onClose,
  onStarted,
}: {
  target: ReplayTarget;
  onClose: () => void;
  onStarted: (bulk: BulkAction) => void;
}) {
  const [rate, setRate] = useState<Rate>("5");
  const [order, setOrder] = useState<"oldest" | "newest">("oldest");
  const [stopAfter, setStopAfter] = useState("3");
  const [canary, setCanary] = useState("1");
  const [asOf, setAsOf] = useState<"now" | "then">("now");
  const [text, setText] = useState("");
  const written = parseObject(text);
  const patch = target.edit && written.value && Object.keys(written.value).length ? written.value : null;
  const chosen = target.filter === undefined ? { ids: target.ids } : { filter: target.filter };
  const request: NewBulkAction = {
    action: "replay",
    ...chosen,
    rate: Number(rate),
    order,
    stop_after: Number.parseInt(stopAfter, 10) || null,
    as_of: asOf,
    patch,
    canary: Math.min(Number.parseInt(canary, 10) || 0, 100),
  };
  const settled = useDebounced(JSON.stringify({ ...chosen, as_of: asOf, patch }));
  const current = settled === JSON.stringify({ ...chosen, as_of: asOf, patch });
  const rehearsal = useQuery({
    queryKey: ["rehearsal", settled],
    queryFn: ({ signal }) =>
      dryRun("/api/bulk", {
        body: { action: "replay", ...(JSON.parse(settled) as Partial<NewBulkAction>) },
        signal,
      }),
    placeholderData: (before) => before,
    staleTime: 0,
    retry: false,
  });
  const count = rehearsal.data?.count;
  const ready =
    current &&
    !rehearsal.isPlaceholderData &&
    Boolean(count) &&
    rehearsal.data?.rehearsal?.refused !== count &&
    !written.error &&
    (!target.edit || patch !== null);
  const { start, busy, error } = useStartRequest(
    (body: NewBulkAction, idempotencyKey) => send("POST", "/api/bulk", { body, idempotencyKey }),
    onStarted,
  );
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) void start({ ...request, ...(target.filter === undefined ? {} : { expect: count }) });
      }}
    >
      {target.edit ? <PatchInput text={text} onText={setText} error={written.error} sample={target.sample} /> : null}
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 text-sm">
        <span className="flex items-center gap-2">
          Use
          <Segments
            label="Use settings"
            value={asOf}
            onChange={setAsOf}
            choices={[
              ["now", "Current settings"],
              ["then", "Settings at failure"],
            ]}
          />
        </span>
        <span className="flex items-center gap-2">
          Rate
          <Segments
            label="Runs per second"
            value={rate}
            onChange={setRate}
            choices={RATES.map((rate) => [rate, rate] as const)}
          />
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
        <label
          className="flex items-center gap-2"
          title="The rest follows when these have succeeded, retries included. 0 sends all without waiting."
        >
          Send
          <input
            inputMode="numeric"
            aria-label="Canary: how many to send first"
            value={canary}
            onChange={(event) => setCanary(event.target.value.replace(/\D/g, ""))}
            className="h-7 w-14 rounded border bg-bg px-2 text-right"
          />
          first
        </label>
        <label
          className="flex items-center gap-2"
          title="Checked once per second; requests already in flight are not recalled."
        >
          Stop after
          <input
            inputMode="numeric"
            value={stopAfter}
            onChange={(event) => setStopAfter(event.target.value.replace(/\D/g, ""))}
            className="h-7 w-14 rounded border bg-bg px-2 text-right"
          />
          failures
        </label>
      </div>
      {rehearsal.error ? (
        <ErrorCard
          error={rehearsal.error}
          what="Could not preview the replay"
          onRetry={() => void rehearsal.refetch()}
        />
      ) : null}
      {error ? <ErrorCard error={error} what="Could not start the replay" bar /> : null}
      {rehearsal.data ? (
        <div className={rehearsal.isPlaceholderData || !current ? "opacity-60" : undefined}>
          <DryRunSummary trial={rehearsal.data} asOf={asOf} edited={patch !== null} />
        </div>
      ) : rehearsal.error ? null : (
        <Skeleton className="h-16 w-full" />
      )}
      <p className="text-xs text-muted">
        {(Number.parseInt(canary, 10) || 0) > 0
          ? "The rest is sent only if the first succeed, retries included; otherwise the replay stops and says why."
          : "Failures are counted once per second, when runs end. Requests already in flight are not recalled, so a low rate limits the damage."}
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" acts busy={busy} disabled={!ready}>
          Replay {count === undefined ? "" : number(count)}
        </Button>
      </div>
    </form>
  );
}
