import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";

import { isAway, onAnswer, onReach } from "@/api/client";

import { Live, type LiveState, type Told } from "./socket";

export const live = new Live(() => {
  const secure = window.location.protocol === "https:";
  return `${secure ? "wss" : "ws"}://${window.location.host}/api/stream`;
});

const subscribe = (listener: () => void): (() => void) => live.onState(listener);

export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => live.state);

/** Why nothing can be asked of the server now, in words for a button; null when it can. */
export function useOffline(): string | null {
  const state = useLiveState();
  const away = useSyncExternalStore(onReach, isAway);
  return away && state.kind !== "live" ? "Offline – the server does not answer. This works again when it does." : null;
}

/** Hear a topic while this component is shown; null hears nothing. */
export function useTopic(topic: string | null, hear: (told: Told) => void, after?: number): void {
  const latest = useRef(hear);
  latest.current = hear;
  const start = useRef(after);
  start.current = after;
  useEffect(() => {
    if (!topic) return undefined;
    return live.follow(topic, (told) => latest.current(told), start.current);
  }, [topic]);
}

/** A hidden tab asks at most this often, */
const HIDDEN_PACE = 10_000;
/** a shown one this often, however much happens, */
const SHOWN_PACE = 1000;
/** and what is dear to answer less often. */
const DEAR_PACE = 5000;
const DEAR: ReadonlySet<unknown> = new Set(["series", "points", "view", "timeline", "calendar", "dead-letter-groups"]);
/** A server that takes long is asked less: it rests so many times as long as it worked. */
const REST = 4;

/** Asks the queries of a topic again when it changed: soon, but never in a hurry. */
class Refresher {
  private readonly due = new Map<string, number>();
  private readonly restUntil = new Map<string, number>();

  constructor(private readonly queries: QueryClient) {}

  mark(topic: string): void {
    this.plan(topic, SHOWN_PACE, false);
    this.plan(topic, DEAR_PACE, true);
  }

  private plan(topic: string, pace: number, dear: boolean): void {
    const key = `${topic} ${dear}`;
    if (this.due.has(key)) return;
    const rest = (this.restUntil.get(key) ?? 0) - Date.now();
    const wait = Math.max(document.hidden ? HIDDEN_PACE : pace, rest);
    this.due.set(
      key,
      window.setTimeout(() => {
        this.due.delete(key);
        const began = Date.now();
        void this.queries
          .invalidateQueries({ queryKey: [topic], predicate: (query) => DEAR.has(query.queryKey[1]) === dear })
          .finally(() => this.restUntil.set(key, Date.now() + (Date.now() - began) * REST));
      }, wait),
    );
  }

  stop(): void {
    for (const timer of this.due.values()) window.clearTimeout(timer);
    this.due.clear();
  }
}

const HURRY = 3000;
const TOPICS = ["runs", "schedules", "queues", "attention"] as const;

/** Mounted once, by the frame: what changed is asked again, and after a gap everything is. */
export function useFreshness(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(queries);
    const ends = TOPICS.map((topic) => live.follow(topic, () => refresher.mark(topic)));
    const end = live.onReturn(() => void queries.invalidateQueries());
    // Who answers a question can be spoken to: no need to wait any longer.
    let hurried = 0;
    const heard = onAnswer(() => {
      // But not with every answer: sockets alone may be shut out.
      if (live.state.kind === "live" || Date.now() - hurried < HURRY) return;
      hurried = Date.now();
      live.hurry();
    });
    // Without a live line, what is shown is asked for now and then.
    const poll = window.setInterval(() => {
      if (live.state.kind !== "live" && !document.hidden) for (const topic of TOPICS) refresher.mark(topic);
    }, HIDDEN_PACE);
    const wake = (): void => {
      if (!document.hidden) live.hurry();
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      for (const stop of [...ends, end, heard]) stop();
      refresher.stop();
      window.clearInterval(poll);
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    };
  }, [queries]);
}
