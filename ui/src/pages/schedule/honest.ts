import type { Instant } from "@/api/calls";

/** One instant, or several neighbours that all came to nothing for the same reason. */
export interface Tick {
  first: Instant;
  last: Instant;
  count: number;
}

const ALONE: ReadonlySet<Instant["outcome"]> = new Set(["ran", "queued", "planned"]);
const FOLDED_FROM = 3;

/** Newest first. Runs stand alone; three or more equal silences in a row are one line, so that an outage does not drown the rest. */
export function ticksOf(instants: readonly Instant[], now = Number.POSITIVE_INFINITY): Tick[] {
  const found: Tick[] = [];
  let row: Instant[] = [];
  const flush = (): void => {
    const [first, last] = [row[0], row.at(-1)];
    if (first && last) {
      if (row.length >= FOLDED_FROM) found.push({ first, last, count: row.length });
      else found.push(...row.map((one) => ({ first: one, last: one, count: 1 })));
    }
    row = [];
  };
  for (const one of instants) {
    // Of a paused schedule the future is "skipped" too; it has not happened yet. What somebody wants skipped is decided.
    if (one.outcome === "skipped" && Date.parse(one.at) > now && !one.reason.startsWith(WISHED)) continue;
    const same = row[0]?.outcome === one.outcome && row[0].reason === one.reason && !ALONE.has(one.outcome);
    if (!same) flush();
    row.push(one);
  }
  flush();
  return found.reverse();
}

const WISHED = "skipped by ";

const REASONS: Record<string, string> = {
  overlap: "The run before it still ran, and this schedule skips then",
  buffer_full: "One run already waited, and this schedule keeps only one waiting",
  superseded: "A later instant took its place while it waited",
  catchup_none: "Nobody was there to fire it in time, and this schedule does not catch up",
  catchup_latest: "Nobody was there to fire it in time; only the latest of such instants is caught up",
  catchup_all: "Nobody was there to fire it in time, and it was beyond what is caught up",
  retention: "It ran; retention has removed the run",
  ahead: "A clock that was ahead fired it before its time",
  paused: "The schedule was paused",
};

/** Why an instant became what it became, as one would say it. */
export function reasonOf(instant: Instant): string {
  const known = REASONS[instant.reason];
  if (known) return known;
  if (instant.reason.startsWith(WISHED)) return `${instant.reason.slice(WISHED.length)} wanted it skipped`;
  if (instant.reason.startsWith("paused: ")) return `The schedule was paused: ${instant.reason.slice(8)}`;
  if (instant.reason.startsWith("damaged")) return `The schedule was damaged${instant.reason.slice(7)}`;
  return instant.reason;
}

/** How long the stretch must be that holds about so many instants, from those that come next. */
export function stretchOf(next: readonly string[], wanted: number): number {
  const times = next.map((at) => Date.parse(at));
  const [first, last] = [times[0], times.at(-1)];
  const DAY = 86_400_000;
  if (first === undefined || last === undefined || times.length < 2) return 30 * DAY;
  const gap = (last - first) / (times.length - 1);
  return Math.min(Math.max(gap * wanted, 60_000), 366 * DAY);
}
