import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { BulkDryRun, BulkRequest, Endpoint } from "@/api/calls";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useBulk } from "@/parts/useBulk";
import { number } from "@/time/moment";

import { useSettled } from "../letters/useSettled";
import { choices, letters, moment, type Since, unkept } from "./target";

/** What a target did not take since a moment, and the ways to send it again. */
export function RecoverDialog({
  one,
  onClose,
  onReplay,
}: {
  one: Endpoint | null;
  onClose: () => void;
  /** Goes on to the dialog of replays. */
  onReplay: (filter: string) => void;
}) {
  return (
    <Modal open={one !== null} onClose={onClose} title="Recover what failed">
      {one ? <Body one={one} onClose={onClose} onReplay={onReplay} /> : null}
    </Modal>
  );
}

function Body({ one, onClose, onReplay }: { one: Endpoint; onClose: () => void; onReplay: (filter: string) => void }) {
  const [since, setSince] = useState<Since>(one.failing_from ? "failing" : "24h");
  const [typed, setTyped] = useState("");
  const from = useSettled(moment(one, since, typed) ?? "");
  const current = from === (moment(one, since, typed) ?? "");
  const [dead, failed] = [letters(one.url, from), unkept(one.url, from)];
  const replay = useTrial({ action: "replay", filter: dead }, from !== "");
  const retry = useTrial({ action: "retry", filter: failed }, from !== "");
  const [mayReplay, mayRetry] = [useMay("run:dead_letter"), useMay("run:run")];
  const bulk = useBulk();
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
      <p className="font-mono text-xs break-all text-muted">{one.url}</p>
      <span className="flex flex-wrap items-center gap-2">
        Runs made since
        <Segments label="Since" value={since} onChange={setSince} choices={choices(one)} />
      </span>
      {since === "other" ? (
        <label className="flex flex-col gap-1">
          So long ago, a date (UTC), or a time with its offset
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
      {error ? <ErrorCard error={error} what="What failed could not be counted" bar /> : null}
      <Line
        count={current ? replay.data?.count : undefined}
        noun={["dead letter", "dead letters"]}
        act="Replay…"
        may={mayReplay}
        onPress={() => onReplay(dead)}
      />
      <Line
        count={current ? retry.data?.count : undefined}
        noun={["failed run that left no letter", "failed runs that left no letter"]}
        act="Retry"
        may={mayRetry}
        busy={busy}
        onPress={again}
      />
      <p className="text-xs text-muted">
        Tests are not sent again, nor what somebody has retried already. Both are bulk actions that can be watched and
        stopped.
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

/** How many it would act on, now. */
function useTrial(request: BulkRequest, enabled: boolean) {
  return useQuery({
    queryKey: ["rehearsal", JSON.stringify(request)],
    queryFn: ({ signal }) =>
      ask<BulkDryRun>("/api/bulk", { method: "POST", body: { ...request, dry_run: true }, signal }),
    enabled,
    staleTime: 0,
    retry: false,
  });
}
