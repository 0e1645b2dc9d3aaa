import type { CalendarCell, TimelineRow, TimelineMark } from "@/api/schema";

import { daysOf, type HeatDay, weekday } from "./heat";

export interface HourBar {
  hour: number;
  fine: number;
  failed: number;
  planned: number;
}

export interface MonthDay extends HeatDay {
  hours: HourBar[];
}

/** The hours of a month, folded to its days. */
export function monthOf(cells: readonly CalendarCell[]): MonthDay[] {
  const hours = new Map<string, HourBar[]>();
  for (const cell of cells) {
    const date = cell.local.slice(0, 10);
    const failed = (cell.counts.failed ?? 0) + (cell.counts.dead_letter ?? 0);
    const bar = { hour: Number(cell.local.slice(11, 13)), fine: cell.total - failed, failed, planned: cell.planned };
    const row = hours.get(date) ?? [];
    // The hour that happens twice is one bar.
    const same = row.find((entry) => entry.hour === bar.hour);
    if (same) {
      same.fine += bar.fine;
      same.failed += bar.failed;
      same.planned += bar.planned;
    } else row.push(bar);
    hours.set(date, row);
  }
  return daysOf(cells).map((day) => ({ ...day, hours: hours.get(day.date) ?? [] }));
}

/** How many empty places come before the first, when weeks begin on Monday. */
export const leadingGaps = (days: readonly { date: string }[]): number => (days[0] ? weekday(days[0].date) : 0);

/** How long its runs take, by the median of those that stand alone; null when there are none. */
export function medianDuration(group: TimelineRow): number | null {
  const lengths = group.marks
    .filter((mark) => mark.count === 1 && mark.run_id && mark.until)
    .map((mark) => Date.parse(mark.until ?? mark.at) - Date.parse(mark.at))
    .sort((one, other) => one - other);
  return lengths.length ? (lengths[Math.floor(lengths.length / 2)] ?? null) : null;
}

const MINUTE = 60_000;

/** The minutes at which something begins, with how much. Folded marks have no minute. */
export function startsPerMinute(groups: readonly TimelineRow[]): Map<number, number> {
  const found = new Map<number, number>();
  const add = (mark: TimelineMark): void => {
    const minute = Math.floor(Date.parse(mark.at) / MINUTE) * MINUTE;
    found.set(minute, (found.get(minute) ?? 0) + 1);
  };
  for (const group of groups)
    for (const mark of group.marks) if (mark.count === 1 && mark.state === "planned") add(mark);
  return found;
}

/** The nearest minute at which nothing begins, within half an hour. */
export function nearestFreeMinute(starts: ReadonlyMap<number, number>, at: number): number | null {
  const minute = Math.floor(at / MINUTE) * MINUTE;
  for (let away = 1; away <= 30; away += 1) {
    for (const one of [minute + away * MINUTE, minute - away * MINUTE]) if (!starts.has(one)) return one;
  }
  return null;
}
