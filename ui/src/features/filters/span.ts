/**
 * The time span of a filter's `since:` and `until:`, for the axis of a chart only: the server evaluates them itself.
 */
import { valueOf, withKey } from "./grammar";

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `24h`, `7d` or a date, as a moment; null when it is neither. */
export function momentOf(text: string, now: number): number | null {
  const ago = /^(\d+)([smhdw])$/.exec(text);
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] as string] as number);
  const at = Date.parse(text.replaceAll('"', ""));
  return Number.isNaN(at) ? null : at;
}

export interface Span {
  from: number;
  to: number;
}

/** The span of a filter; the last 24 hours when it names none. */
export function spanOf(q: string, now: number): Span {
  const since = valueOf(q, "since");
  const until = valueOf(q, "until");
  const to = (until && momentOf(until, now)) || now;
  const from = (since && momentOf(since, now)) || to - 86_400_000;
  return from < to ? { from, to } : { from: to - 86_400_000, to };
}

/** The filter narrowed to a span that was drawn on a chart. */
export function narrowTo(q: string, from: number, to: number): string {
  const text = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  return withKey(withKey(q, "since", text(from)), "until", text(to));
}
