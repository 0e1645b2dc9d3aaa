import type { CalendarCell } from "@/api/schema";

export interface HeatDay {
  /** 2026-11-16, on the calendar of the zone. */
  date: string;
  at: string;
  runs: number;
  failures: number;
  planned: number;
  missed: number;
  skipped: number;
}

const FAILED = ["failed", "dead_letter"] as const;

export const dayOf = (cell: CalendarCell): HeatDay => ({
  date: cell.local.slice(0, 10),
  at: cell.at,
  runs: cell.total,
  failures: FAILED.reduce((sum, state) => sum + (cell.counts[state] ?? 0), 0),
  planned: cell.planned,
  missed: cell.missed,
  skipped: cell.skipped,
});

/** Hours of the same day become the day. */
export function daysOf(cells: readonly CalendarCell[]): HeatDay[] {
  const found = new Map<string, HeatDay>();
  for (const day of cells.map(dayOf)) {
    const before = found.get(day.date);
    if (!before) {
      found.set(day.date, day);
      continue;
    }
    before.runs += day.runs;
    before.failures += day.failures;
    before.planned += day.planned;
    before.missed += day.missed;
    before.skipped += day.skipped;
  }
  return [...found.values()];
}

/** Monday is 0. A date has its weekday whatever the zone. */
export const weekday = (date: string): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;

/** Columns of weeks from Monday to Sunday; the first and the last may have gaps. */
export function weeksOf(days: readonly HeatDay[]): (HeatDay | null)[][] {
  const weeks: (HeatDay | null)[][] = [];
  for (const day of days) {
    const place = weekday(day.date);
    if (!weeks.length || place === 0) weeks.push(Array.from({ length: 7 }, () => null));
    const week = weeks.at(-1);
    if (week) week[place] = day;
  }
  return weeks;
}

/** From 0 (nothing) to 4; by the square root, so that quiet days can still be told apart beside busy ones. */
export function levelOf(value: number, most: number): number {
  if (value <= 0 || most <= 0) return 0;
  return Math.min(Math.max(Math.ceil(Math.sqrt(value / most) * 4), 1), 4);
}

/** The names of months above the week in which each begins. */
export function monthsOf(weeks: readonly (HeatDay | null)[][]): { week: number; label: string }[] {
  const found: { week: number; label: string }[] = [];
  let before = "";
  weeks.forEach((week, index) => {
    const first = week.find((day) => day !== null);
    const month = first?.date.slice(0, 7) ?? before;
    if (month === before) return;
    before = month;
    const label = new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en-GB", { month: "short", timeZone: "UTC" });
    // Two names closer than three weeks would overlap: the later one is the more useful.
    if (found.length && index - (found.at(-1)?.week ?? 0) < 3) found.pop();
    found.push({ week: index, label });
  });
  return found;
}

/** The tints of the ramp: nothing, and four steps from neutral to the colour. */
export const TINTS = [0, 22, 42, 66, 100] as const;

export const tint = (level: number, tone: "accent" | "failed"): string =>
  level === 0 ? "var(--neutral-tint)" : `color-mix(in srgb, var(--${tone}) ${TINTS[level]}%, var(--neutral-tint))`;
