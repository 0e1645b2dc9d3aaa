import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { dryRun, send } from "@/api/client";
import type { NewBackfill, BackfillDryRun, BulkAction, Schedule } from "@/api/schema";
import { BulkDialog, type Rate, RATES, useStartRequest } from "@/features/bulk/BulkDialog";
import { reasonOf } from "@/features/ledger/instantGroups";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useDebounced } from "@/parts/useDebounced";
import { useZone } from "@/prefs";
import { inputOf, instantOf } from "@/time/datetimeLocal";
import { number, short } from "@/time/moment";
import { city } from "@/time/zone";

const WEEK = 7 * 86_400_000;

/** Creates runs for instants in the past: first a dry run with their number, then the backfill at a bounded rate. */
export function BackfillDialog({
  schedule,
  open,
  onClose,
}: {
  schedule: Schedule;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Modal open={open} onClose={onClose} title={`Backfill ${schedule.name}`} wide>
      {open ? (
        <BulkDialog onClose={onClose}>
          {(onStarted) => <BackfillForm schedule={schedule} onClose={onClose} onStarted={onStarted} />}
        </BulkDialog>
      ) : null}
    </Modal>
  );
}

function BackfillForm({
  schedule,
  onClose,
  onStarted,
}: {
  schedule: Schedule;
  onClose: () => void;
  onStarted: (bulk: BulkAction) => void;
}) {
  const viewer = useZone();
  const [from, setFrom] = useState(() => inputOf(new Date(Date.now() - WEEK).toISOString(), viewer));
  const [to, setTo] = useState("");
  const [which, setWhich] = useState<"missing" | "all">("missing");
  const [rate, setRate] = useState<Rate>("5");
  const since = instantOf(from, viewer);
  const request: NewBackfill | null = since
    ? { from: since, to: to ? (instantOf(to, viewer) ?? null) : null, which, rate: Number(rate), limit: 10_000 }
    : null;
  const asked = JSON.stringify(request);
  const settled = useDebounced(asked);
  const trial = useQuery({
    queryKey: ["rehearsal", schedule.id, settled],
    queryFn: ({ signal }) =>
      dryRun("/api/schedules/{schedule_id}/backfill", {
        params: { schedule_id: schedule.id },
        body: JSON.parse(settled) as NewBackfill,
        signal,
      }),
    enabled: settled !== "null",
    placeholderData: (before) => before,
    staleTime: 0,
    retry: false,
  });
  const count = trial.data?.count ?? 0;
  const ready = settled === asked && !trial.isPlaceholderData && !trial.error && count > 0;
  const { start, busy, error } = useStartRequest(
    (body: NewBackfill, idempotencyKey) =>
      send("POST", "/api/schedules/{schedule_id}/backfill", {
        params: { schedule_id: schedule.id },
        body,
        idempotencyKey,
      }),
    onStarted,
    () => void trial.refetch(),
  );
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && request) void start({ ...request, to: request.to ?? new Date().toISOString(), expect: count });
      }}
    >
      <p className="text-sm text-muted">
        Creates one run per scheduled time in the period, with the current settings. Each run receives its scheduled
        time. Repeating a backfill never creates duplicates.
      </p>
      <div className="grid gap-3 text-sm sm:grid-cols-2">
        <DateTimeInput label={`From (${city(viewer)})`} value={from} onChange={setFrom} required />
        <DateTimeInput label={`To, empty for now (${city(viewer)})`} value={to} onChange={setTo} />
      </div>
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 text-sm">
        <span className="flex items-center gap-2">
          Include
          <Segments
            label="Which scheduled times"
            value={which}
            onChange={setWhich}
            choices={[
              ["missing", "Missing or failed"],
              ["all", "All"],
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
      </div>
      {trial.error ? (
        <ErrorCard error={trial.error} what="Cannot backfill this period" onRetry={() => void trial.refetch()} />
      ) : null}
      {error ? <ErrorCard error={error} what="Could not start the backfill" bar /> : null}
      {trial.error ? null : trial.data ? (
        <div className={trial.isPlaceholderData || settled !== asked ? "opacity-60" : undefined}>
          <DryRunSummary trial={trial.data} zone={viewer} />
        </div>
      ) : (
        <Skeleton className="h-20 w-full" />
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" acts busy={busy} disabled={!ready}>
          {count ? `Create ${number(count)} ${count === 1 ? "run" : "runs"}` : "Create runs"}
        </Button>
      </div>
    </form>
  );
}

function DateTimeInput({
  label,
  value,
  onChange,
  required,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  required?: boolean;
}) {
  return (
    <label className="flex flex-col gap-1">
      {label}
      <input
        type="datetime-local"
        step={1}
        value={value}
        required={required}
        onChange={(event) => onChange(event.target.value)}
        className="h-8 rounded border bg-bg px-2"
      />
    </label>
  );
}

/** The result of the dry run. */
function DryRunSummary({ trial, zone }: { trial: BackfillDryRun; zone: string }) {
  const now = Date.now();
  const left = Object.entries(trial.left_out).map(([why, count]) => `${number(count ?? 0)} ${why}`);
  return (
    <div className="flex flex-col gap-2 rounded-lg border p-3 text-sm">
      <p>
        <span className="font-medium">
          {number(trial.count)} {trial.count === 1 ? "run" : "runs"}
        </span>{" "}
        for {number(trial.named)} {trial.named === 1 ? "scheduled time" : "scheduled times"}
        {left.length ? <span className="text-muted"> · skipped: {left.join(", ")}</span> : null}
        {trial.hosts.length ? <span className="text-muted"> · to {trial.hosts.join(", ")}</span> : null}
      </p>
      {trial.sample.length ? (
        <ul className="text-muted">
          {trial.sample.map((instant) => (
            <li key={instant.at} className="flex gap-2">
              <time dateTime={instant.at} className="shrink-0 font-mono text-xs leading-5 text-ink">
                {short(instant.at, zone, now)}
              </time>
              <span className="min-w-0 truncate">
                {instant.outcome === "ran"
                  ? instant.reason.replace("_", " ")
                  : `${instant.outcome}: ${reasonOf(instant)}`}
              </span>
            </li>
          ))}
          {trial.count > trial.sample.length ? <li>… and {number(trial.count - trial.sample.length)} more</li> : null}
        </ul>
      ) : (
        <p className="text-muted">
          {trial.named ? "Nothing is missing in this period." : "The schedule has no scheduled times in this period."}
        </p>
      )}
      {trial.warnings.map((warning) => (
        <p key={warning} className="text-attention-ink">
          {warning}
        </p>
      ))}
    </div>
  );
}
