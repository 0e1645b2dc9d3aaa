import type { NamedCalendar, NamedCalendarRequest } from "@/api/schema";

/** The dates of a calendar as lines: `2027-07-01/2027-07-31 Summer break`. */
export const datesText = (dates: NamedCalendar["dates"]): string =>
  dates.map((one) => (typeof one === "string" ? one : `${one.date} ${one.name}`.trim())).join("\n");

/** The dates that lines describe. */
export const datesOf = (text: string): NonNullable<NamedCalendarRequest["dates"]> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [date = "", ...name] = line.split(/\s+/);
      return name.length ? { date, name: name.join(" ") } : date;
    });
