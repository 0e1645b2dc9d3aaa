import { addDays, fromWall, startOfDay, wall } from "@/time/zone";

export type View = "month" | "week" | "day";

export interface Range {
  from: number;
  to: number;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** 2026-11-16, on the calendar of the zone. */
export function dateOf(at: number, zone: string): string {
  const { year, month, day } = wall(at, zone);
  return `${year}-${two(month)}-${two(day)}`;
}

/** When that day begins; today when the text is no date. */
export function momentOf(date: string, zone: string, now: number): number {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(date);
  if (!found) return startOfDay(now, zone);
  return fromWall(zone, Number(found[1]), Number(found[2]), Number(found[3]));
}

/** The month, the week from Monday on, or the day that this moment lies in. */
export function rangeOf(view: View, at: number, zone: string): Range {
  const { year, month } = wall(at, zone);
  if (view === "month") return { from: fromWall(zone, year, month, 1), to: fromWall(zone, year, month + 1, 1) };
  const day = startOfDay(at, zone);
  if (view === "day") return { from: day, to: addDays(day, 1, zone) };
  const weekday = (new Date(`${dateOf(day, zone)}T00:00:00Z`).getUTCDay() + 6) % 7;
  const monday = addDays(day, -weekday, zone);
  return { from: monday, to: addDays(monday, 7, zone) };
}

/** One month, week or day on or back. */
export function stepOf(view: View, at: number, by: number, zone: string): number {
  if (view === "day") return addDays(at, by, zone);
  if (view === "week") return addDays(at, 7 * by, zone);
  const { year, month } = wall(at, zone);
  return fromWall(zone, year, month + by, 1);
}
