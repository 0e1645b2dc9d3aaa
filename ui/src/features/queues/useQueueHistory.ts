import { useEffect, useRef, useState } from "react";

export interface Sample {
  at: number;
  depth: number;
  age: number;
}

const KEPT = 180;

/** The samples of each queue that this tab has received; the server keeps no history of depths. */
export function useQueueHistory(
  now: Record<string, Omit<Sample, "at">> | null,
  updated: number,
): ReadonlyMap<string, readonly Sample[]> {
  const kept = useRef(new Map<string, Sample[]>());
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!now || !updated) return;
    for (const [name, seen] of Object.entries(now)) {
      const samples = kept.current.get(name) ?? [];
      if (samples.at(-1)?.at !== updated) kept.current.set(name, [...samples, { at: updated, ...seen }].slice(-KEPT));
    }
    redraw((count) => count + 1);
  }, [now, updated]);
  return kept.current;
}
