/** The log lines in memory: one contiguous window of bounded length. Pure. */
import type { RunLog, LogLine } from "@/api/schema";

export const MOST = 20_000;

export interface LineWindow {
  lines: readonly LogLine[];
  /** The `before` of the request for older lines; null at the beginning of the log. */
  before: number | null;
  /** Lines after this window are known to exist: it is not the tail. */
  detached: boolean;
  total: number;
  pruned: boolean;
}

export const EMPTY: LineWindow = { lines: [], before: null, detached: false, total: 0, pruned: false };

export const windowOf = (page: RunLog): LineWindow => ({
  lines: page.items,
  before: page.before,
  detached: page.after !== null,
  total: page.total,
  pruned: page.pruned,
});

/** Adds older lines. Lines dropped at the other end are requested again when they are scrolled to. */
export function prepended(window: LineWindow, page: RunLog, most = MOST): LineWindow {
  const first = window.lines[0]?.seq ?? Number.POSITIVE_INFINITY;
  const lines = [...page.items.filter((line) => line.seq < first), ...window.lines];
  const cut = lines.length > most;
  return {
    ...window,
    lines: cut ? lines.slice(0, most) : lines,
    before: page.before,
    detached: window.detached || cut,
    total: page.total,
  };
}

/** Adds newer lines to a window that is not the tail. */
export function appended(window: LineWindow, page: RunLog, most = MOST): LineWindow {
  const grown = grow(window, page.items, most);
  return { ...grown, detached: page.after !== null, total: page.total };
}

/** Adds live lines; a window that is not the tail only counts them. */
export function appendedLive(window: LineWindow, lines: readonly LogLine[], most = MOST): LineWindow {
  const total = window.total + lines.length;
  return window.detached ? { ...window, total } : { ...grow(window, lines, most), total };
}

function grow(window: LineWindow, lines: readonly LogLine[], most: number): LineWindow {
  const last = window.lines.at(-1)?.seq ?? -1;
  const all = [...window.lines, ...lines.filter((line) => line.seq > last)];
  if (all.length <= most) return { ...window, lines: all };
  const kept = all.slice(all.length - most);
  return { ...window, lines: kept, before: kept[0]?.seq ?? null };
}
