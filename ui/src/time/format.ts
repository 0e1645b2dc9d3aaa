/** The time rule: no clock time without its zone, relative below a day, durations in two units. */
import { format, mark, wall } from "./zone";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const millis = (at: string | number | Date): number => (typeof at === "number" ? at : new Date(at).getTime());

/** 840 ms · 4.2 s · 42 s · 4 m 12 s · 3 h 5 m · 2 d 4 h */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  const sign = ms < 0 ? "−" : "";
  const size = Math.abs(ms);
  if (size < 0.5) return "0 ms";
  if (size < 999.5) return `${sign}${Math.round(size)} ms`;
  if (size < 9.95 * SECOND) return `${sign}${(size / SECOND).toFixed(1)} s`;
  if (size < 59.5 * SECOND) return `${sign}${Math.round(size / SECOND)} s`;
  const seconds = Math.round(size / SECOND);
  if (seconds < 3600) return sign + two(Math.floor(seconds / 60), "m", seconds % 60, "s");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 24 * 60) return sign + two(Math.floor(minutes / 60), "h", minutes % 60, "m");
  const hours = Math.floor(minutes / 60);
  return sign + two(Math.floor(hours / 24), "d", hours % 24, "h");
}

const two = (many: number, unit: string, few: number, small: string): string =>
  few ? `${many} ${unit} ${few} ${small}` : `${many} ${unit}`;

/** One unit only, for countdowns and "ago": 4 m, 11 h, 3 d. */
function rough(ms: number): string {
  const size = Math.abs(ms);
  if (size < MINUTE) return `${Math.max(Math.floor(size / SECOND), 0)} s`;
  if (size < HOUR) return `${Math.floor(size / MINUTE)} m`;
  if (size < DAY) return `${Math.floor(size / HOUR)} h`;
  return `${Math.floor(size / DAY)} d`;
}

/** "in 4 m", "4 m ago", "now". */
export function relative(at: string | number, now: number): string {
  const gap = millis(at) - now;
  if (Math.abs(gap) < SECOND) return "now";
  return gap > 0 ? `in ${rough(gap)}` : `${rough(gap)} ago`;
}

export type Precision = "minute" | "second" | "milli";

/** 02:30, 02:30:04 or 02:30:04.120, without its zone: only below a header or an axis that names it. */
export function clock(at: string | number, zone: string, precision: Precision = "minute"): string {
  const options: Intl.DateTimeFormatOptions = { hourCycle: "h23", hour: "2-digit", minute: "2-digit" };
  if (precision !== "minute") options.second = "2-digit";
  if (precision === "milli") options.fractionalSecondDigits = 3;
  return format(zone, options).format(millis(at));
}

/** "Mon 16 Nov", with the year when it is not this one. */
export function day(at: string | number, zone: string, now: number): string {
  const when = millis(at);
  const options: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short" };
  if (wall(when, zone).year !== wall(now, zone).year) options.year = "numeric";
  return format(zone, options).format(when).replace(",", "");
}

/** "Mon 16 Nov 02:30 CET": never without the zone. */
export function absolute(at: string | number, zone: string, now: number, precision: Precision = "minute"): string {
  const when = millis(at);
  return `${day(when, zone, now)} ${clock(when, zone, precision)} ${mark(when, zone)}`;
}

/** "02:30 CET" on the same day, otherwise with the day. */
export function short(at: string | number, zone: string, now: number, precision: Precision = "minute"): string {
  const when = millis(at);
  const same = day(when, zone, now) === day(now, zone, now);
  return same ? `${clock(when, zone, precision)} ${mark(when, zone)}` : absolute(when, zone, now, precision);
}

/** "today 12:00 CET", "yesterday 12:00 CET", otherwise "Mon 16 Nov 12:00 CET": for titles. */
export function titleTime(at: string | number, zone: string, now: number): string {
  const when = millis(at);
  const near = [
    ["today", 0],
    ["yesterday", DAY],
  ] as const;
  for (const [word, back] of near) {
    if (day(when, zone, now) === day(now - back, zone, now)) return `${word} ${clock(when, zone)} ${mark(when, zone)}`;
  }
  return absolute(when, zone, now);
}

/** Relative below 24 hours, absolute beyond. */
export function humane(at: string | number, zone: string, now: number): string {
  return Math.abs(millis(at) - now) < DAY ? relative(at, now) : absolute(at, zone, now);
}

/** The tooltip of a time: ISO 8601, and the distance from now. */
export function exact(at: string | number, now: number): string {
  return `${new Date(millis(at)).toISOString()} · ${relative(at, now)}`;
}

/** Both zones when they differ: "Mon 16 Nov 02:30 CET" and "Sun 17:30 PST for you". */
export function both(at: string | number, zone: string, viewer: string, now: number): [string, string | null] {
  const when = millis(at);
  const there = absolute(when, zone, now);
  const here = absolute(when, viewer, now);
  if (there === here) return [there, null];
  const weekday = format(viewer, { weekday: "short" }).format(when);
  const otherDay = day(when, zone, now) !== day(when, viewer, now);
  return [there, `${otherDay ? `${weekday} ` : ""}${clock(when, viewer)} ${mark(when, viewer)} for you`];
}

/** 1,284 */
const NUMBERS = new Intl.NumberFormat("en-US");
export const number = (value: number): string => NUMBERS.format(value);

/** 1,284 · 12.4 k · 3.1 M */
export function brief(value: number): string {
  if (Math.abs(value) < 10_000) return number(value);
  if (Math.abs(value) < 1_000_000) return `${(value / 1000).toFixed(1).replace(/\.0$/, "")} k`;
  return `${(value / 1_000_000).toFixed(1).replace(/\.0$/, "")} M`;
}

/** 98.4% */
export function percent(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined) return "–";
  if (ratio === 1) return "100%";
  // 99.97% must not read as a clean hundred.
  return `${Math.min(Math.floor(ratio * 1000) / 10, 99.9)}%`;
}

/** 4.2 MB */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${(size / 1024).toFixed(1)} KB`;
  if (size < 1024 ** 3) return `${(size / 1024 ** 2).toFixed(1)} MB`;
  return `${(size / 1024 ** 3).toFixed(1)} GB`;
}
