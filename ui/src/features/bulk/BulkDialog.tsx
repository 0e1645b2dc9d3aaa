import { type ReactNode, useState } from "react";

import { ask, newIdempotencyKey } from "@/api/client";
import type { BulkAction } from "@/api/schema";

import { BulkProgress } from "./BulkProgress";

/** Items per second. */
export const RATES = ["1", "5", "20", "50"] as const;
export type Rate = (typeof RATES)[number];

/** A dialog in two steps: the form, then the progress of the bulk action that it started. */
export function BulkDialog({
  onClose,
  children,
}: {
  onClose: () => void;
  children: (onStarted: (bulk: BulkAction) => void) => ReactNode;
}) {
  const [bulk, setBulk] = useState<string | null>(null);
  return bulk ? <BulkProgress id={bulk} onClose={onClose} /> : children((made) => setBulk(made.id));
}

/** Starts a bulk action under one idempotency key per press; `refused` is called when the server refuses. */
export function useStartRequest(path: string, onStarted: (bulk: BulkAction) => void, refused?: () => void) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(newIdempotencyKey);
  const start = async (body: object): Promise<void> => {
    setBusy(true);
    try {
      onStarted(await ask<BulkAction>(path, { method: "POST", body, idempotencyKey: key }));
    } catch (why) {
      setError(why);
      setKey(newIdempotencyKey());
      refused?.();
    } finally {
      setBusy(false);
    }
  };
  return { start, busy, error };
}
