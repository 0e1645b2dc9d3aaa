import { useCallback, useEffect, useRef, useState } from "react";

import { ask, type QueryOf } from "@/api/client";
import type { RunLog, LogLine } from "@/api/schema";
import { live, useTopic } from "@/live/live";
import type { LiveMessage } from "@/live/socket";
import { duration, number } from "@/time/moment";

import { appended, appendedLive, EMPTY, type LineWindow, prepended, windowOf } from "./lineWindow";
import { type LogFilter, matchesFilter, queryOf } from "./logFilter";

export interface LogView {
  held: LineWindow;
  /** The number of lines that match the filter, over the whole log; null without a filter. */
  matches: number | null;
  loading: boolean;
  error: unknown;
  ended: boolean;
  /** The run is gone from the server. */
  gone: boolean;
  gaps: ReadonlyMap<number, string>;
  /** Lines per second, lately. */
  pace: number;
  openTail: () => Promise<void>;
  openAround: (seq: number) => Promise<void>;
  loadOlder: () => Promise<void>;
  loadNewer: () => Promise<void>;
}

type LogQuery = QueryOf<"/api/runs/{run_id}/logs">;

const AROUND = 400;
/** Lines that arrive this soon after a reconnect are those that were missed. */
const RECOVERY = 1000;
/** How long live lines are buffered before they are rendered. */
const DRAWN = 120;
const PACE_WINDOW = 5000;

interface Gap {
  after: number;
  away: number;
  count: number;
  until: number;
}

/** The log of a run: its end at first, live lines as they are written, and any other part on request. */
export function useLog(id: string, filter: LogFilter): LogView {
  const [held, setLines] = useState<LineWindow>(EMPTY);
  const [matches, setMatches] = useState<number | null>(null);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [after, setAfter] = useState<number | null>(null);
  const [ended, setEnded] = useState(false);
  const [gone, setGone] = useState(false);
  const [gaps, setGaps] = useState<ReadonlyMap<number, string>>(new Map());
  const [pace, setPace] = useState(0);
  const seen = useRef(-1);
  const waiting = useRef<LogLine[]>([]);
  const frame = useRef<number | undefined>(undefined);
  const gap = useRef<Gap | null>(null);
  const arrivals = useRef<[number, number][]>([]);
  const requests = useRef(0);
  const busy = useRef(false);

  const read = useCallback(
    (place: LogQuery) =>
      ask("/api/runs/{run_id}/logs", { params: { run_id: id }, query: { ...place, ...queryOf(filter) } }),
    [id, filter],
  );

  const open = useCallback(
    async (place: LogQuery) => {
      const turn = ++requests.current;
      setLoading(true);
      try {
        const page = await read(place);
        if (turn !== requests.current) return;
        const last = page.last_seq ?? -1;
        seen.current = Math.max(seen.current, last);
        setLines((before) => {
          // Live lines that arrived during the request are newer than the page.
          const since = before.lines.filter((line) => line.seq > last && matchesFilter(line, filter));
          const fresh = windowOf(page);
          return fresh.detached ? fresh : { ...appendedLive(fresh, since), total: page.total + since.length };
        });
        setMatches(page.matches);
        setError(null);
        setAfter((before) => before ?? Math.max(last, 0));
      } catch (problem) {
        if (turn === requests.current) setError(problem);
      } finally {
        if (turn === requests.current) setLoading(false);
      }
    },
    [read, filter],
  );

  const flush = useCallback(() => {
    frame.current = undefined;
    const all = waiting.current.filter((line) => line.seq > seen.current);
    waiting.current = [];
    if (!all.length) return;
    seen.current = all.at(-1)?.seq ?? seen.current;
    const mine = all.filter((line) => matchesFilter(line, filter));
    setLines((before) => ({ ...appendedLive(before, mine), total: before.total + all.length }));
    setMatches((before) => (before === null ? null : before + mine.length));
    const now = Date.now();
    arrivals.current = [...arrivals.current.filter(([at]) => at > now - PACE_WINDOW), [now, all.length]];
    const missed = gap.current;
    if (missed && now < missed.until) {
      missed.count += all.length;
      const text = `Disconnected for ${duration(missed.away)}, ${number(missed.count)} lines recovered`;
      setGaps((before) => new Map(before).set(missed.after, text));
    }
  }, [filter]);

  const receive = useCallback((message: LiveMessage) => {
    if (message.type === "lines") {
      waiting.current.push(...(message.data as { lines: LogLine[] }).lines);
      // Rendered a few times a second, so that a flood of lines does not block the page; a hidden tab renders nothing.
      frame.current ??= window.setTimeout(() => {
        frame.current = window.requestAnimationFrame(() => draw.current());
      }, DRAWN);
    } else if (message.type === "end") setEnded(true);
    else if (message.type === "gone") setGone(true);
  }, []);
  const draw = useRef(flush);
  draw.current = flush;
  useTopic(after === null ? null : `log:${id}`, receive, after ?? undefined);

  useEffect(
    () =>
      live.onReconnect((away) => {
        gap.current = { after: seen.current, away, count: 0, until: Date.now() + RECOVERY };
      }),
    [],
  );
  useEffect(() => {
    const timer = window.setInterval(() => {
      const now = Date.now();
      arrivals.current = arrivals.current.filter(([at]) => at > now - PACE_WINDOW);
      setPace(Math.round((arrivals.current.reduce((sum, [, count]) => sum + count, 0) * 1000) / PACE_WINDOW));
    }, 1000);
    return () => window.clearInterval(timer);
  }, []);

  const extend = useCallback(
    async (place: LogQuery, join: (held: LineWindow, page: RunLog) => LineWindow) => {
      if (busy.current) return;
      busy.current = true;
      const turn = requests.current;
      try {
        const page = await read(place);
        if (turn === requests.current) setLines((before) => join(before, page));
      } catch (problem) {
        setError(problem);
      } finally {
        busy.current = false;
      }
    },
    [read],
  );
  const first = held.before;
  const last = held.lines.at(-1)?.seq;
  return {
    held,
    matches,
    loading,
    error,
    ended,
    gone,
    gaps,
    pace,
    openTail: useCallback(() => open({}), [open]),
    openAround: useCallback((seq: number) => open({ around: seq, limit: AROUND }), [open]),
    loadOlder: useCallback(async () => {
      if (first !== null) await extend({ before: first }, prepended);
    }, [extend, first]),
    loadNewer: useCallback(async () => {
      if (last !== undefined) await extend({ after: last }, appended);
    }, [extend, last]),
  };
}
