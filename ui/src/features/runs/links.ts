import { addDays } from "@/time/zone";

const stamp = (at: number): string => new Date(at).toISOString().replace(".000Z", "Z");

/** The address of the list of runs in a time span. */
export function runsBetween(q: string, from: number, to: number, failures = false): string {
  const words = [q, failures ? "state:failed,dead_letter" : "", `since:${stamp(from)}`, `until:${stamp(to)}`];
  return `/runs?q=${encodeURIComponent(words.filter(Boolean).join(" "))}`;
}

export function runsOfDay(q: string, day: { at: string }, zone: string, failures = false): string {
  const from = Date.parse(day.at);
  return runsBetween(q, from, addDays(from, 1, zone), failures);
}
