import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useTopic } from "@/live/live";

/** Invalidates a query after a change, at most this often: for answers too large to be requested every second. */
export function useThrottledRefetch(topic: string, key: QueryKey, pace: number): void {
  const queries = useQueryClient();
  const timer = useRef<number | undefined>(undefined);
  const latest = useRef(key);
  latest.current = key;
  useTopic(topic, () => {
    timer.current ??= window.setTimeout(
      () => {
        timer.current = undefined;
        void queries.invalidateQueries({ queryKey: latest.current });
      },
      document.hidden ? 5 * pace : pace,
    );
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);
}
