import { type ReactNode, useState } from "react";

import type { Bulk } from "@/api/calls";
import { ask, freshKey } from "@/api/client";

import { Going } from "./Going";

/** How many a second. */
export const RATES = ["1", "5", "20", "50"] as const;
export type Rate = (typeof RATES)[number];

/** First what is asked, then how it goes. */
export function Steps({
  onClose,
  children,
}: {
  onClose: () => void;
  children: (onStarted: (bulk: Bulk) => void) => ReactNode;
}) {
  const [bulk, setBulk] = useState<string | null>(null);
  return bulk ? <Going id={bulk} onClose={onClose} /> : children((made) => setBulk(made.id));
}

/** Starts a bulk action, once for each press; `refused` is called when the server says no. */
export function useStart(path: string, onStarted: (bulk: Bulk) => void, refused?: () => void) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(freshKey);
  const start = async (body: object): Promise<void> => {
    setBusy(true);
    try {
      onStarted(await ask<Bulk>(path, { method: "POST", body, once: key }));
    } catch (why) {
      setError(why);
      setKey(freshKey());
      refused?.();
    } finally {
      setBusy(false);
    }
  };
  return { start, busy, error };
}
