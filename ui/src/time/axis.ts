/** Ticks of a time axis, on round hours or days of the display zone. */
import { clock, day } from "./format";
import { addDays, fromWall, startOfDay, wall } from "./zone";

export interface Tick {
  at: number;
  label: string;
  /** Midnight: drawn stronger, and named by its day. */
  major: boolean;
}

const HOUR = 3_600_000;
const STEPS: readonly number[] = [1 / 60, 5 / 60, 10 / 60, 15 / 60, 0.5, 1, 2, 3, 4, 6, 12];

export function ticks(from: number, to: number, zone: string, wanted: number): Tick[] {
  const hours = (to - from) / HOUR;
  const step = STEPS.find((step) => hours / step <= wanted);
  return step === undefined ? daily(from, to, zone, wanted) : hourly(from, to, zone, step);
}

function hourly(from: number, to: number, zone: string, step: number): Tick[] {
  const found: Tick[] = [];
  const { year, month, day: first, hour } = wall(from, zone);
  const perDay = Math.round(24 / step);
  let index = Math.floor(hour / step);
  for (let guard = 0; guard < 500; guard += 1, index += 1) {
    const [days, rest] = [Math.floor(index / perDay), (index % perDay) * step];
    const at = fromWall(zone, year, month, first + days, Math.floor(rest), Math.round((rest % 1) * 60));
    if (at > to) break;
    if (at < from || at === found.at(-1)?.at) continue;
    const midnight = rest === 0;
    found.push({ at, label: midnight ? shortDay(at, zone) : clock(at, zone), major: midnight });
  }
  return found;
}

function daily(from: number, to: number, zone: string, wanted: number): Tick[] {
  const days = (to - from) / (24 * HOUR);
  const step = [1, 2, 7, 14, 30, 60].find((one) => days / one <= wanted) ?? 90;
  const found: Tick[] = [];
  let at = startOfDay(from, zone);
  for (let guard = 0; guard < 500 && at <= to; guard += 1, at = addDays(at, step, zone)) {
    if (at >= from) found.push({ at, label: shortDay(at, zone), major: true });
  }
  return found;
}

const shortDay = (at: number, zone: string): string => day(at, zone, at);
