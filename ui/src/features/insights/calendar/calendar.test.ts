import { describe, expect, it } from "vitest";

import type { CalendarCell, TimelineRow } from "@/api/schema";

import { leadingGaps, medianDuration, monthOf, nearestFreeMinute, startsPerMinute } from "./aggregate";
import { dateOf, momentOf, rangeOf, stepOf } from "./range";

const ZONE = "Europe/Stockholm";
const iso = (at: number): string => new Date(at).toISOString();

describe("ranges", () => {
  const at = Date.parse("2026-11-19T12:00:00Z");
  it("begin and end on the zone's midnights", () => {
    expect(
      [rangeOf("month", at, ZONE), rangeOf("week", at, ZONE), rangeOf("day", at, ZONE)].map(({ from, to }) => [
        iso(from),
        iso(to),
      ]),
    ).toEqual([
      ["2026-10-31T23:00:00.000Z", "2026-11-30T23:00:00.000Z"],
      ["2026-11-15T23:00:00.000Z", "2026-11-22T23:00:00.000Z"],
      ["2026-11-18T23:00:00.000Z", "2026-11-19T23:00:00.000Z"],
    ]);
  });
  it("know days of 23 and 25 hours", () => {
    const spring = rangeOf("day", Date.parse("2027-03-28T12:00:00Z"), ZONE);
    const autumn = rangeOf("day", Date.parse("2027-10-31T12:00:00Z"), ZONE);
    expect([(spring.to - spring.from) / 3_600_000, (autumn.to - autumn.from) / 3_600_000]).toEqual([23, 25]);
  });
  it("step on and back, and survive the address", () => {
    expect(dateOf(stepOf("month", Date.parse("2026-01-31T12:00:00Z"), 1, ZONE), ZONE)).toBe("2026-02-01");
    expect(dateOf(stepOf("week", at, -1, ZONE), ZONE)).toBe("2026-11-12");
    expect(momentOf(dateOf(at, ZONE), ZONE, 0)).toBe(rangeOf("day", at, ZONE).from);
    expect(momentOf("nonsense", ZONE, at)).toBe(rangeOf("day", at, ZONE).from);
  });
});

const cell = (local: string, failed: number, fine: number, planned = 0): CalendarCell => ({
  at: local,
  local,
  counts: { dead_letter: failed, success: fine },
  total: failed + fine,
  planned,
  missed: 0,
  skipped: 0,
});

describe("folding", () => {
  it("makes days of hours, and one bar of the hour that happens twice", () => {
    const days = monthOf([
      cell("2026-10-25T02:00:00+02:00", 1, 2),
      cell("2026-10-25T02:00:00+01:00", 0, 3, 4),
      cell("2026-10-26T00:00:00+01:00", 0, 0),
    ]);
    expect(days.map((day) => [day.date, day.runs, day.failures, day.planned, day.hours.length])).toEqual([
      ["2026-10-25", 6, 1, 4, 1],
      ["2026-10-26", 0, 0, 0, 1],
    ]);
    expect(days[0]?.hours[0]).toEqual({ hour: 2, fine: 5, failed: 1, planned: 4 });
    expect(leadingGaps(days)).toBe(6);
  });
  const group = (marks: TimelineRow["marks"]): TimelineRow => ({ marks }) as TimelineRow;
  const mark = (
    at: string,
    until: string | null,
    state: "success" | "planned",
    count = 1,
  ): TimelineRow["marks"][number] => ({
    at,
    until,
    state,
    count,
    run_id: state === "planned" || count > 1 ? null : "run_1",
  });
  it("foretells from the median of single runs", () => {
    expect(
      medianDuration(
        group([
          mark("2026-11-16T00:00:00Z", "2026-11-16T00:00:10Z", "success"),
          mark("2026-11-16T01:00:00Z", "2026-11-16T01:00:30Z", "success"),
          mark("2026-11-16T02:00:00Z", "2026-11-16T02:01:00Z", "success"),
          mark("2026-11-16T03:00:00Z", "2026-11-16T09:00:00Z", "success", 9),
        ]),
      ),
    ).toBe(30_000);
    expect(medianDuration(group([]))).toBeNull();
  });
  it("finds a quieter minute near by", () => {
    const starts = startsPerMinute([
      group([
        mark("2026-11-16T09:00:00Z", null, "planned"),
        mark("2026-11-16T09:01:30Z", null, "planned"),
        mark("2026-11-16T08:59:00Z", null, "planned"),
      ]),
    ]);
    expect(iso(nearestFreeMinute(starts, Date.parse("2026-11-16T09:00:00Z")) ?? 0)).toBe("2026-11-16T09:02:00.000Z");
  });
});
