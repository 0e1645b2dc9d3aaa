import type { ScheduleInstant } from "@/api/schema";

/** One instant, or several consecutive ones without a run for the same reason. */
export interface InstantGroup {
  first: ScheduleInstant;
  last: ScheduleInstant;
  count: number;
}

const ALONE: ReadonlySet<ScheduleInstant["outcome"]> = new Set(["ran", "queued", "planned"]);
const FOLDED_FROM = 3;

/**
 * Newest first. Runs are never grouped; three or more consecutive equal outcomes without a run are, so that an outage
 * does not hide the rest.
 */
export function groupInstants(instants: readonly ScheduleInstant[], now = Number.POSITIVE_INFINITY): InstantGroup[] {
  const found: InstantGroup[] = [];
  let row: ScheduleInstant[] = [];
  const flush = (): void => {
    const [first, last] = [row[0], row.at(-1)];
    if (first && last) {
      if (row.length >= FOLDED_FROM) found.push({ first, last, count: row.length });
      else found.push(...row.map((entry) => ({ first: entry, last: entry, count: 1 })));
    }
    row = [];
  };
  for (const instant of instants) {
    // A paused schedule reports future instants as "skipped" too; only those that a user skipped are certain.
    if (instant.outcome === "skipped" && Date.parse(instant.at) > now && !instant.reason.startsWith(SKIPPED_BY))
      continue;
    const same = row[0]?.outcome === instant.outcome && row[0].reason === instant.reason && !ALONE.has(instant.outcome);
    if (!same) flush();
    row.push(instant);
  }
  flush();
  return found.reverse();
}

const SKIPPED_BY = "skipped by ";

const REASONS: Record<string, string> = {
  overlap: "The run before it still ran, and this schedule skips then",
  buffer_full: "One run already waited, and this schedule keeps only one waiting",
  superseded: "A later instant took its place while it waited",
  catchup_none: "No scheduler was running in time, and this schedule does not catch up",
  catchup_latest: "No scheduler was running in time; only the latest of such instants is caught up",
  catchup_all: "No scheduler was running in time, and it was beyond what is caught up",
  retention: "It ran; retention has removed the run",
  ahead: "A clock that was ahead fired it before its time",
  paused: "The schedule was paused",
};

/** The reason of an outcome as a sentence. */
export function reasonOf(instant: ScheduleInstant): string {
  const known = REASONS[instant.reason];
  if (known) return known;
  if (instant.reason.startsWith(SKIPPED_BY)) return `${instant.reason.slice(SKIPPED_BY.length)} wanted it skipped`;
  if (instant.reason.startsWith("paused: ")) return `The schedule was paused: ${instant.reason.slice(8)}`;
  if (instant.reason.startsWith("damaged")) return `The schedule was damaged${instant.reason.slice(7)}`;
  return instant.reason;
}

/** The length of a span that holds about `wanted` instants, by the distance of the next ones. */
export function spanFor(next: readonly string[], wanted: number): number {
  const times = next.map((at) => Date.parse(at));
  const [first, last] = [times[0], times.at(-1)];
  const DAY = 86_400_000;
  if (first === undefined || last === undefined || times.length < 2) return 30 * DAY;
  const gap = (last - first) / (times.length - 1);
  return Math.min(Math.max(gap * wanted, 60_000), 366 * DAY);
}
