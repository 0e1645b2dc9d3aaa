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
  overlap: "The previous run was still active (overlap policy: skip)",
  buffer_full: "A run was already waiting (overlap policy: queue one)",
  superseded: "Replaced by a later run while waiting",
  catchup_none: "No scheduler was running, and catch-up is off",
  catchup_latest: "No scheduler was running; catch-up runs only the latest",
  catchup_all: "No scheduler was running, and it was outside the catch-up window",
  retention: "It ran; the run was removed by retention",
  ahead: "A fast clock settled it too early",
  paused: "The schedule was paused",
};

/** The reason of an outcome as a sentence. */
export function reasonOf(instant: ScheduleInstant): string {
  const known = REASONS[instant.reason];
  if (known) return known;
  if (instant.reason.startsWith(SKIPPED_BY)) return `Skipped by ${instant.reason.slice(SKIPPED_BY.length)}`;
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
