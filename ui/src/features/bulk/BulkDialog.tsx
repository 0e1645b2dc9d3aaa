import { type ReactNode, useState } from "react";

import { newIdempotencyKey } from "@/api/client";
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
export function useStartRequest<Body>(
  post: (body: Body, idempotencyKey: string) => Promise<BulkAction>,
  onStarted: (bulk: BulkAction) => void,
  refused?: () => void,
) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(newIdempotencyKey);
  const start = async (body: Body): Promise<void> => {
    setBusy(true);
    try {
      onStarted(await post(body, key));
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
