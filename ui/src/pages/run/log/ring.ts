/** The lines that the browser holds: one stretch of the log without holes, of bounded length. Pure. */
import type { LogLine, LogPage } from "@/api/calls";

export const MOST = 20_000;

export interface Ring {
  lines: readonly LogLine[];
  /** What to ask as `before` for older lines; null at the beginning of the log. */
  before: number | null;
  /** Lines beyond the end of this stretch are known to exist: it is not the tail. */
  detached: boolean;
  total: number;
  pruned: boolean;
}

export const EMPTY: Ring = { lines: [], before: null, detached: false, total: 0, pruned: false };

export const opened = (page: LogPage): Ring => ({
  lines: page.items,
  before: page.before,
  detached: page.after !== null,
  total: page.total,
  pruned: page.pruned,
});

/** Older lines in front. What falls off the other end is asked again when somebody goes there. */
export function older(ring: Ring, page: LogPage, most = MOST): Ring {
  const first = ring.lines[0]?.seq ?? Number.POSITIVE_INFINITY;
  const lines = [...page.items.filter((line) => line.seq < first), ...ring.lines];
  const cut = lines.length > most;
  return {
    ...ring,
    lines: cut ? lines.slice(0, most) : lines,
    before: page.before,
    detached: ring.detached || cut,
    total: page.total,
  };
}

/** Newer lines behind, of a stretch that is not the tail. */
export function newer(ring: Ring, page: LogPage, most = MOST): Ring {
  const grown = grow(ring, page.items, most);
  return { ...grown, detached: page.after !== null, total: page.total };
}

/** Lines that have just been written. A stretch that is not the tail only counts them. */
export function told(ring: Ring, lines: readonly LogLine[], most = MOST): Ring {
  const total = ring.total + lines.length;
  return ring.detached ? { ...ring, total } : { ...grow(ring, lines, most), total };
}

function grow(ring: Ring, lines: readonly LogLine[], most: number): Ring {
  const last = ring.lines.at(-1)?.seq ?? -1;
  const all = [...ring.lines, ...lines.filter((line) => line.seq > last)];
  if (all.length <= most) return { ...ring, lines: all };
  const kept = all.slice(all.length - most);
  return { ...ring, lines: kept, before: kept[0]?.seq ?? null };
}
