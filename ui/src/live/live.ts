import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";

import { isUnreachable, onAnswer, onReachabilityChange } from "@/api/client";

import { Live, type LiveMessage, type LiveState } from "./socket";

export const live = new Live(() => {
  const secure = window.location.protocol === "https:";
  return `${secure ? "wss" : "ws"}://${window.location.host}/api/stream`;
});

const subscribe = (listener: () => void): (() => void) => live.onState(listener);

export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => live.state);

/** The tooltip of buttons while the server is unreachable; null otherwise. */
export function useOffline(): string | null {
  const state = useLiveState();
  const unreachable = useSyncExternalStore(onReachabilityChange, isUnreachable);
  return unreachable && state.kind !== "live"
    ? "Offline – the server is not responding. Try again once it is back."
    : null;
}

/** Subscribes to a topic while the component is mounted; null subscribes to nothing. */
export function useTopic(topic: string | null, listener: (message: LiveMessage) => void, after?: number): void {
  const latest = useRef(listener);
  latest.current = listener;
  const start = useRef(after);
  start.current = after;
  useEffect(() => {
    if (!topic) return undefined;
    return live.follow(topic, (message) => latest.current(message), start.current);
  }, [topic]);
}

/** A hidden tab refetches at most this often, */
const HIDDEN_PACE = 10_000;
/** a visible one this often, however much changes, */
const SHOWN_PACE = 1000;
/** and expensive queries less often. */
const EXPENSIVE_PACE = 5000;
const EXPENSIVE: ReadonlySet<unknown> = new Set([
  "series",
  "points",
  "view",
  "timeline",
  "calendar",
  "dead-letter-groups",
]);
/** Back-off for a slow server: the pause is this many times the duration of the last refetch. */
const REST = 4;

/** Invalidates the queries of a changed topic, throttled. */
class Refresher {
  private readonly due = new Map<string, number>();
  private readonly restUntil = new Map<string, number>();

  constructor(private readonly queries: QueryClient) {}

  mark(topic: string): void {
    this.plan(topic, SHOWN_PACE, false);
    this.plan(topic, EXPENSIVE_PACE, true);
  }

  private plan(topic: string, pace: number, expensive: boolean): void {
    const key = `${topic} ${expensive}`;
    if (this.due.has(key)) return;
    const rest = (this.restUntil.get(key) ?? 0) - Date.now();
    const wait = Math.max(document.hidden ? HIDDEN_PACE : pace, rest);
    this.due.set(
      key,
      window.setTimeout(() => {
        this.due.delete(key);
        const began = Date.now();
        void this.queries
          .invalidateQueries({
            queryKey: [topic],
            predicate: (query) => EXPENSIVE.has(query.queryKey[1]) === expensive,
          })
          .finally(() => this.restUntil.set(key, Date.now() + (Date.now() - began) * REST));
      }, wait),
    );
  }

  stop(): void {
    for (const timer of this.due.values()) window.clearTimeout(timer);
    this.due.clear();
  }
}

const RECONNECT_PACE = 3000;
const TOPICS = ["runs", "schedules", "queues", "attention"] as const;

/** Mounted once, by the frame: invalidates what changed, and everything after a reconnect. */
export function useLiveRefresh(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(queries);
    const ends = TOPICS.map((topic) => live.follow(topic, () => refresher.mark(topic)));
    const end = live.onReconnect(() => void queries.invalidateQueries());
    // A server that answers a request can be reconnected to without waiting.
    let lastReconnect = 0;
    const stopOnAnswer = onAnswer(() => {
      // But not with every answer: a proxy may refuse sockets alone.
      if (live.state.kind === "live" || Date.now() - lastReconnect < RECONNECT_PACE) return;
      lastReconnect = Date.now();
      live.reconnectNow();
    });
    // Without a live connection, queries are polled.
    const poll = window.setInterval(() => {
      if (live.state.kind !== "live" && !document.hidden) for (const topic of TOPICS) refresher.mark(topic);
    }, HIDDEN_PACE);
    const wake = (): void => {
      if (!document.hidden) live.reconnectNow();
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      for (const stop of [...ends, end, stopOnAnswer]) stop();
      refresher.stop();
      window.clearInterval(poll);
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    };
  }, [queries]);
}
