import { describe, expect, it } from "vitest";

import type { CalendarCell } from "@/api/schema";

import { daysOf, levelOf, monthsOf, weekday, weeksOf } from "./heat";

const cell = (local: string, total: number, failed = 0): CalendarCell => ({
  at: local,
  local,
  counts: { failed, success: total - failed },
  total,
  planned: 1,
  missed: 0,
  skipped: 0,
});

describe("heatmap", () => {
  it("adds hours up to days of the zone's calendar", () => {
    const days = daysOf([
      cell("2026-11-15T23:00:00+01:00", 2),
      cell("2026-11-16T00:00:00+01:00", 3, 1),
      cell("2026-11-16T01:00:00+01:00", 4, 2),
    ]);
    expect(days.map((day) => [day.date, day.runs, day.failures, day.planned])).toEqual([
      ["2026-11-15", 2, 0, 1],
      ["2026-11-16", 7, 3, 2],
    ]);
  });
  it("puts Monday first and leaves gaps at the ends", () => {
    expect(weekday("2026-11-16")).toBe(0);
    expect(weekday("2026-11-15")).toBe(6);
    const weeks = weeksOf(daysOf(["14", "15", "16", "17"].map((day) => cell(`2026-11-${day}T00:00:00+01:00`, 1))));
    expect(weeks.map((week) => week.map((day) => day?.date.slice(8) ?? "")).map((week) => week.join())).toEqual([
      ",,,,,14,15",
      "16,17,,,,,",
    ]);
  });
  it("has levels that keep quiet days visible", () => {
    expect([0, 1, 100, 400, 10_000].map((value) => levelOf(value, 10_000))).toEqual([0, 1, 1, 1, 4]);
    expect(levelOf(5, 0)).toBe(0);
  });
  it("names months where they begin, never too close", () => {
    const days = Array.from({ length: 90 }, (_, index) =>
      cell(new Date(Date.UTC(2026, 8, 28 + index)).toISOString(), 1),
    );
    expect(monthsOf(weeksOf(daysOf(days))).map((one) => one.label)).toEqual(["Oct", "Nov", "Dec"]);
  });
});
