import { wall } from "@/time/zone";

export interface WeekGrid {
  /** Seven days from the first, each with its 24 hours: how often it fires. */
  days: { date: string; weekday: string; hours: number[] }[];
  most: number;
}

const DAY = 86_400_000;

const stamp = (at: number, zone: string): { date: string; hour: number } => {
  const { year, month, day, hour } = wall(at, zone);
  return { date: new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10), hour };
};

/** Fires sorted into seven days of 24 hours on the clock of the zone. */
export function weekOf(fires: readonly number[], from: number, zone: string): WeekGrid {
  const first = stamp(from, zone).date;
  const start = Date.parse(`${first}T00:00:00Z`);
  const days = Array.from({ length: 7 }, (_, index) => {
    const at = new Date(start + index * DAY);
    return {
      date: at.toISOString().slice(0, 10),
      weekday: at.toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" }),
      hours: Array.from({ length: 24 }, () => 0),
    };
  });
  const places = new Map(days.map((day, index) => [day.date, index]));
  for (const at of fires) {
    const { date, hour } = stamp(at, zone);
    const hours = days[places.get(date) ?? -1]?.hours;
    if (hours) hours[hour] = (hours[hour] ?? 0) + 1;
  }
  return { days, most: Math.max(...days.flatMap((day) => day.hours), 0) };
}
