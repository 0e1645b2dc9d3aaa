import { useEffect, useSyncExternalStore } from "react";

import { ask } from "@/api/client";
import type { ScheduleHealth } from "@/api/schema";
import { useTopic } from "@/live/live";

const SOON = 40;
const PACE = 2000;
const MOST = 100;

/**
 * The health of the schedules on the screen. Rows register while they are visible, and all of them are requested
 * together, so that a list of thousands costs no more than one page of it.
 */
class HealthStore {
  private readonly known = new Map<string, ScheduleHealth>();
  private readonly shown = new Map<string, number>();
  private readonly wanted = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private timer: number | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  read(id: string): ScheduleHealth | undefined {
    return this.known.get(id);
  }

  show(id: string): () => void {
    this.shown.set(id, (this.shown.get(id) ?? 0) + 1);
    this.wanted.add(id);
    this.later(SOON);
    return () => {
      const left = (this.shown.get(id) ?? 1) - 1;
      if (left) this.shown.set(id, left);
      else this.shown.delete(id);
    };
  }

  /** Requests the visible schedules again after runs have ended, at a bounded rate. */
  stale(): void {
    for (const id of this.shown.keys()) this.wanted.add(id);
    this.later(document.hidden ? 5 * PACE : PACE);
  }

  private later(wait: number): void {
    this.timer ??= window.setTimeout(() => {
      this.timer = undefined;
      void this.look();
    }, wait);
  }

  private async look(): Promise<void> {
    const ids = [...this.wanted].filter((id) => this.shown.has(id));
    this.wanted.clear();
    for (let from = 0; from < ids.length; from += MOST) {
      const some = ids.slice(from, from + MOST).join(",");
      // A request that fails is repeated with the next change.
      const answer = await ask("/api/schedules/health", { query: { ids: some } }).catch(() => null);
      for (const one of answer?.items ?? []) this.known.set(one.schedule_id, one);
    }
    for (const listener of this.listeners) listener();
  }
}

const store = new HealthStore();

export function useHealth(id: string): ScheduleHealth | undefined {
  useEffect(() => store.show(id), [id]);
  return useSyncExternalStore(store.subscribe, () => store.read(id));
}

/** Mounted once by a page that shows health. */
export function useHealthUpdates(): void {
  useTopic("runs", () => store.stale());
}
