import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { dryRun } from "@/api/client";
import type { NewBulkAction, EndpointHealth } from "@/api/schema";
import { usePermission } from "@/api/session";
import { useStartBulk } from "@/features/bulk/useStartBulk";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useDebounced } from "@/parts/useDebounced";
import { number } from "@/time/moment";

import { deadLetterFilter, failedRunFilter, type Since, sinceChoices, sinceValue } from "./target";

/** Runs that an endpoint failed since a given time, and the ways to send them again. */
export function RecoverDialog({
  endpoint,
  onClose,
  onReplay,
}: {
  endpoint: EndpointHealth | null;
  onClose: () => void;
  /** Opens the replay dialog. */
  onReplay: (filter: string) => void;
}) {
  return (
    <Modal open={endpoint !== null} onClose={onClose} title="Recover failures">
      {endpoint ? <Body endpoint={endpoint} onClose={onClose} onReplay={onReplay} /> : null}
    </Modal>
  );
}

function Body({
  endpoint,
  onClose,
  onReplay,
}: {
  endpoint: EndpointHealth;
  onClose: () => void;
  onReplay: (filter: string) => void;
}) {
  const [since, setSince] = useState<Since>(endpoint.failing_from ? "failing" : "24h");
  const [typed, setTyped] = useState("");
  const from = useDebounced(sinceValue(endpoint, since, typed) ?? "");
  const current = from === (sinceValue(endpoint, since, typed) ?? "");
  const [dead, failed] = [deadLetterFilter(endpoint.url, from), failedRunFilter(endpoint.url, from)];
  const replay = useTrial({ action: "replay", filter: dead }, from !== "");
  const retry = useTrial({ action: "retry", filter: failed }, from !== "");
  const [mayReplay, mayRetry] = [usePermission("run:dead_letter"), usePermission("run:run")];
  const bulk = useStartBulk();
  const [busy, setBusy] = useState(false);
  const error = replay.error ?? retry.error;
  const again = (): void => {
    setBusy(true);
    void bulk({ action: "retry", filter: failed, expect: retry.data?.count })
      .then(() => retry.refetch())
      .catch(() => undefined)
      .finally(() => setBusy(false));
  };
  return (
    <div className="flex flex-col gap-4 text-sm">
      <p className="font-mono text-xs break-all text-muted">{endpoint.url}</p>
      <span className="flex flex-wrap items-center gap-2">
        Runs created since
        <Segments label="Since" value={since} onChange={setSince} choices={sinceChoices(endpoint)} />
      </span>
      {since === "other" ? (
        <label className="flex flex-col gap-1">
          A duration, a date (UTC), or a time with offset
          <input
            autoFocus
            value={typed}
            maxLength={40}
            onChange={(event) => setTyped(event.target.value)}
            placeholder="3h, 2026-11-14 or 2026-11-14T09:00Z"
            className="h-8 rounded border bg-bg px-2 font-mono"
          />
        </label>
      ) : null}
      {error ? <ErrorCard error={error} what="Could not count failures" bar /> : null}
      <Line
        count={current ? replay.data?.count : undefined}
        noun={["dead letter", "dead letters"]}
        act="Replay…"
        may={mayReplay}
        onPress={() => onReplay(dead)}
      />
      <Line
        count={current ? retry.data?.count : undefined}
        noun={["failed run without a dead letter", "failed runs without a dead letter"]}
        act="Retry"
        may={mayRetry}
        busy={busy}
        onPress={again}
      />
      <p className="text-xs text-muted">
        Tests and runs that were already retried are not sent again. Both are bulk actions you can follow and stop.
      </p>
      <div className="flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}

function Line({
  count,
  noun,
  act,
  may,
  busy,
  onPress,
}: {
  count: number | undefined;
  noun: readonly [string, string];
  act: string;
  may: boolean;
  busy?: boolean;
  onPress: () => void;
}) {
  return (
    <div className="flex items-center justify-between gap-3">
      {count === undefined ? (
        <Skeleton className="h-5 w-40" />
      ) : (
        <span>
          {number(count)} {count === 1 ? noun[0] : noun[1]}
        </span>
      )}
      <Button acts size="small" busy={busy} disabled={!count || !may} onClick={onPress}>
        {act}
      </Button>
    </div>
  );
}

/** The number of runs that the bulk action would touch, by a dry run. */
function useTrial(request: NewBulkAction, enabled: boolean) {
  return useQuery({
    queryKey: ["rehearsal", JSON.stringify(request)],
    queryFn: ({ signal }) => dryRun("/api/bulk", { body: request, signal }),
    enabled,
    staleTime: 0,
    retry: false,
  });
}
