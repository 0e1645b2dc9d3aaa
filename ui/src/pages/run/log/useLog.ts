import { useCallback, useEffect, useRef, useState } from "react";

import type { LogLine, LogPage } from "@/api/calls";
import { ask, type Query } from "@/api/client";
import { live, useTopic } from "@/live/live";
import type { Told } from "@/live/socket";
import { duration, number } from "@/time/moment";

import { EMPTY, newer, older, opened, type Ring, told } from "./ring";
import { asked as query, wanted, type Wish } from "./wish";

export interface Log {
  ring: Ring;
  /** Lines that are wished for, over the whole log; null when everything is shown. */
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

const AROUND = 400;
/** Lines that come so soon after a gap are those that were missed. */
const RECOVERY = 1000;
/** How long lines are gathered before they are drawn. */
const DRAWN = 120;
const PACE_WINDOW = 5000;

interface Gap {
  after: number;
  away: number;
  count: number;
  until: number;
}

/** The log of a run: the end of it at once, what is written as it is written, and any other part when it is asked for. */
export function useLog(id: string, wish: Wish): Log {
  const [ring, setRing] = useState<Ring>(EMPTY);
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
  const asked = useRef(0);
  const busy = useRef(false);

  const read = useCallback(
    (place: Query) => ask<LogPage>(`/api/runs/${id}/logs`, { query: { ...place, ...query(wish) } }),
    [id, wish],
  );

  const open = useCallback(
    async (place: Query) => {
      const turn = ++asked.current;
      setLoading(true);
      try {
        const page = await read(place);
        if (turn !== asked.current) return;
        const last = page.last_seq ?? -1;
        seen.current = Math.max(seen.current, last);
        setRing((before) => {
          // What was told while this was on its way is newer than the page.
          const since = before.lines.filter((line) => line.seq > last && wanted(line, wish));
          const fresh = opened(page);
          return fresh.detached ? fresh : { ...told(fresh, since), total: page.total + since.length };
        });
        setMatches(page.matches);
        setError(null);
        setAfter((before) => before ?? Math.max(last, 0));
      } catch (problem) {
        if (turn === asked.current) setError(problem);
      } finally {
        if (turn === asked.current) setLoading(false);
      }
    },
    [read, wish],
  );

  const flush = useCallback(() => {
    frame.current = undefined;
    const all = waiting.current.filter((line) => line.seq > seen.current);
    waiting.current = [];
    if (!all.length) return;
    seen.current = all.at(-1)?.seq ?? seen.current;
    const mine = all.filter((line) => wanted(line, wish));
    setRing((before) => ({ ...told(before, mine), total: before.total + all.length }));
    setMatches((before) => (before === null ? null : before + mine.length));
    const now = Date.now();
    arrivals.current = [...arrivals.current.filter(([at]) => at > now - PACE_WINDOW), [now, all.length]];
    const missed = gap.current;
    if (missed && now < missed.until) {
      missed.count += all.length;
      const text = `${duration(missed.away)} without connection, ${number(missed.count)} lines recovered`;
      setGaps((before) => new Map(before).set(missed.after, text));
    }
  }, [wish]);

  const hear = useCallback((message: Told) => {
    if (message.type === "lines") {
      waiting.current.push(...(message.data as { lines: LogLine[] }).lines);
      // A few times a second: a flood must not keep the page from answering. A hidden tab draws nothing.
      frame.current ??= window.setTimeout(() => {
        frame.current = window.requestAnimationFrame(() => draw.current());
      }, DRAWN);
    } else if (message.type === "end") setEnded(true);
    else if (message.type === "gone") setGone(true);
  }, []);
  const draw = useRef(flush);
  draw.current = flush;
  useTopic(after === null ? null : `log:${id}`, hear, after ?? undefined);

  useEffect(
    () =>
      live.onReturn((away) => {
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
    async (place: Query, join: (ring: Ring, page: LogPage) => Ring) => {
      if (busy.current) return;
      busy.current = true;
      const turn = asked.current;
      try {
        const page = await read(place);
        if (turn === asked.current) setRing((before) => join(before, page));
      } catch (problem) {
        setError(problem);
      } finally {
        busy.current = false;
      }
    },
    [read],
  );
  const first = ring.before;
  const last = ring.lines.at(-1)?.seq;
  return {
    ring,
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
      if (first !== null) await extend({ before: first }, older);
    }, [extend, first]),
    loadNewer: useCallback(async () => {
      if (last !== undefined) await extend({ after: last }, newer);
    }, [extend, last]),
  };
}
