import type { ScheduleRequest } from "@/api/schema";

export type TimeEntry = NonNullable<ScheduleRequest["exclude"]>[number];

const CALENDAR = "calendar:";
const DAY = "(?:mon|tue|wed|thu|fri|sat|sun)";
const HOURS = new RegExp(`^(${DAY}(?:\\s*,\\s*${DAY})*)?\\s*(?:(\\d\\d:\\d\\d)\\s*-\\s*(\\d\\d:\\d\\d))?$`, "i");

/** An entry as one line: `calendar:SE`, `2027-01-01/2027-01-06`, `sat,sun 22:00-06:00`. */
export const lineOf = (entry: TimeEntry): string =>
  typeof entry === "string"
    ? entry
    : [entry.days?.join(","), entry.from ? `${entry.from}-${entry.to ?? ""}` : undefined].filter(Boolean).join(" ");

/** The entry that a line describes; a line that describes none is sent as it is, for the server to complain. */
export function entryOf(line: string): TimeEntry {
  const found = HOURS.exec(line.trim());
  if (!found || !line.trim()) return line.trim();
  const [, days, from, to] = found;
  return {
    ...(from ? { from, to } : {}),
    ...(days ? { days: days.toLowerCase().split(/\s*,\s*/) as ("mon" | "tue")[] } : {}),
  };
}

export const linesOf = (entries: readonly TimeEntry[] | null | undefined): string =>
  (entries ?? []).map(lineOf).join("\n");

export const entriesOf = (text: string): TimeEntry[] =>
  text
    .split("\n")
    .filter((line) => line.trim())
    .map(entryOf);

/** The calendars that the lines name. */
export const calendarsIn = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith(CALENDAR))
    .map((line) => line.slice(CALENDAR.length).trim());

/** The lines with a calendar added, or taken away. */
export function withCalendar(text: string, name: string, named: boolean): string {
  const kept = text.split("\n").filter((line) => line.trim() && line.trim() !== CALENDAR + name);
  return [...(named ? [CALENDAR + name] : []), ...kept].join("\n");
}
