import { describe, expect, it } from "vitest";

import { DEFAULT_RETRY, delaysOf } from "../policies";
import { weekOf } from "../preview/week";
import {
  type CronFields,
  cronOf,
  DEFAULT_FIELDS,
  fieldsOf,
  HOURS,
  joinsDays,
  MINUTES,
  phraseOf,
  secondsOf,
  unitOf,
} from "./cronFields";

const every: CronFields[] = [
  ...MINUTES.map((minute): CronFields => ({ ...DEFAULT_FIELDS, often: "minutes", every: minute })),
  { ...DEFAULT_FIELDS, often: "minutes", every: 10, between: [9, 17], days: [1, 2, 3, 4, 5] },
  { ...DEFAULT_FIELDS, often: "minutes", every: 10, between: [9, 10], days: [0, 6] },
  { ...DEFAULT_FIELDS, often: "hourly", minute: 15 },
  { ...DEFAULT_FIELDS, often: "hourly", minute: 0, between: [9, 17], days: [1, 4] },
  ...HOURS.map((hour): CronFields => ({ ...DEFAULT_FIELDS, often: "hours", every: hour, minute: 5 })),
  { ...DEFAULT_FIELDS, often: "daily", hour: 2, minute: 30 },
  { ...DEFAULT_FIELDS, often: "weekly", hour: 0, minute: 0, days: [0] },
  { ...DEFAULT_FIELDS, often: "weekly", hour: 23, minute: 59, days: [1, 2, 3, 4, 5] },
  { ...DEFAULT_FIELDS, often: "monthly", hour: 6, monthday: 31 },
  { ...DEFAULT_FIELDS, often: "monthly", hour: 6, monthday: -1 },
  { ...DEFAULT_FIELDS, often: "nth", nth: 1, weekday: 1 },
  { ...DEFAULT_FIELDS, often: "nth", nth: -1, weekday: 5 },
];

describe("fields and cron", () => {
  it.each(every.map((fields) => [cronOf(fields), fields] as const))("%s says its fields back", (cron, fields) => {
    const back = fieldsOf(cron);
    expect(back.often).toBe(fields.often);
    expect(cronOf(back)).toBe(cron);
    expect(phraseOf(back)).toBe(phraseOf(fields));
  });
  it.each([
    "61 2 * * *",
    "* * *",
    "0 0 1,15 * 5",
    "0 0 1 1 *",
    "@daily",
    "*/7 * * * *",
    "H 2 * * *",
    "0 9 * * MON",
    "30 0 2 * * *",
    "0 5-3 * * *",
    "0 9,17 * * *",
    "",
    "0 2 32 * *",
    "0 2 * * 1#5",
  ])("%s has no knobs", (cron) => {
    expect(fieldsOf(cron).often).toBe("custom");
  });
  it("reads other writings of the same", () => {
    expect(fieldsOf("0 9 * * 1,2,3,4,5").days).toEqual([1, 2, 3, 4, 5]);
    expect(fieldsOf("0 9 * * 7").days).toEqual([0]);
    expect(fieldsOf("  30   2 * * *  ")).toMatchObject({ often: "daily", hour: 2, minute: 30 });
  });
  it("speaks", () => {
    expect(phraseOf({ ...DEFAULT_FIELDS, often: "weekly", days: [1, 3, 5], hour: 8, minute: 15 })).toBe(
      "every monday, wednesday and friday at 08:15",
    );
    expect(phraseOf({ ...DEFAULT_FIELDS, often: "monthly", monthday: 22 })).toBe("on the 22nd of every month at 09:00");
    expect(phraseOf({ ...DEFAULT_FIELDS, often: "monthly", monthday: 11 })).toBe("on the 11th of every month at 09:00");
    expect(phraseOf({ ...DEFAULT_FIELDS, often: "minutes", every: 10, between: [9, 17], days: [1, 2, 3, 4, 5] })).toBe(
      "every 10 minutes between 09:00 and 17:00 on weekdays",
    );
    expect(phraseOf({ ...DEFAULT_FIELDS, often: "custom" })).toBe("");
  });
  it("knows the trap of two day fields", () => {
    expect(joinsDays("0 0 1,15 * 5")).toBe(true);
    expect(joinsDays("0 0 0 1 * 5")).toBe(true);
    expect(joinsDays("0 0 1 * *")).toBe(false);
    expect(joinsDays("@daily")).toBe(false);
  });
});

describe("intervals", () => {
  it("are said in the largest whole unit", () => {
    expect(unitOf(5400)).toEqual({ number: 90, unit: "minutes" });
    expect(unitOf(86_400)).toEqual({ number: 1, unit: "days" });
    expect(unitOf(0)).toEqual({ number: 0, unit: "seconds" });
    expect(secondsOf(1.5, "hours")).toBe(5400);
  });
});

describe("retries", () => {
  it("grow as the server lets them", () => {
    expect(delaysOf(DEFAULT_RETRY)).toEqual([10, 20, 40]);
    expect(delaysOf({ ...DEFAULT_RETRY, strategy: "linear", max_retries: 4, max_delay_seconds: 25 })).toEqual([
      10, 20, 25, 25,
    ]);
    expect(delaysOf({ ...DEFAULT_RETRY, strategy: "fixed", max_retries: 2 })).toEqual([10, 10]);
    expect(delaysOf({ ...DEFAULT_RETRY, max_retries: 0 })).toEqual([]);
  });
});

describe("week grid", () => {
  it("sorts fires into hours of the zone, over a change of the clock", () => {
    const from = Date.parse("2027-03-26T10:00:00Z");
    const fires = ["2027-03-26T23:30:00Z", "2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z", "2027-04-02T21:00:00Z"].map(
      (at) => Date.parse(at),
    );
    const { days, most } = weekOf(fires, from, "Europe/Stockholm");
    expect(days.map((day) => day.weekday)).toEqual(["Fri", "Sat", "Sun", "Mon", "Tue", "Wed", "Thu"]);
    expect(days[1]?.hours[0]).toBe(1);
    expect([days[2]?.hours[1], days[2]?.hours[2], days[2]?.hours[3]]).toEqual([1, 0, 1]);
    expect(most).toBe(1);
  });
});
