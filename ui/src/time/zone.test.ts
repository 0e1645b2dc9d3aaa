import { expect, test } from "vitest";

import { ticks } from "./axis";
import { addDays, fromWall, mark, offset, offsetMark, startOfDay, wall } from "./zone";

const STOCKHOLM = "Europe/Stockholm";
const iso = (at: number): string => new Date(at).toISOString();

test("the wall says what the wall says", () => {
  expect(wall(Date.parse("2026-11-16T23:30:04Z"), STOCKHOLM)).toEqual({
    year: 2026,
    month: 11,
    day: 17,
    hour: 0,
    minute: 30,
    second: 4,
  });
  expect(offset(Date.parse("2026-07-01T00:00:00.500Z"), STOCKHOLM)).toBe(7_200_000);
});

test("an hour that does not exist is the one after, an hour that happens twice is the first", () => {
  expect(iso(fromWall(STOCKHOLM, 2027, 3, 28, 2, 30))).toBe("2027-03-28T01:30:00.000Z");
  expect(iso(fromWall(STOCKHOLM, 2027, 10, 31, 2, 30))).toBe("2027-10-31T00:30:00.000Z");
});

test("a day is 23, 24 or 25 hours long", () => {
  const before = startOfDay(Date.parse("2027-03-28T12:00:00Z"), STOCKHOLM);
  expect((addDays(before, 1, STOCKHOLM) - before) / 3_600_000).toBe(23);
  const autumn = startOfDay(Date.parse("2027-10-31T12:00:00Z"), STOCKHOLM);
  expect((addDays(autumn, 1, STOCKHOLM) - autumn) / 3_600_000).toBe(25);
});

test("zones are called as people call them", () => {
  const winter = Date.parse("2026-11-16T00:00:00Z");
  expect(mark(winter, STOCKHOLM)).toBe("CET");
  expect(mark(winter, "America/New_York")).toBe("EST");
  expect(mark(winter, "UTC")).toBe("UTC");
  expect(mark(winter, "Europe/London")).toBe("GMT");
  expect(mark(winter, "Asia/Kathmandu")).toBe("UTC+5:45");
  expect(offsetMark(winter, "America/St_Johns")).toBe("UTC−3:30");
});

test("ticks stand on round hours of the display zone, through a clock change too", () => {
  const found = ticks(Date.parse("2027-03-27T20:00:00Z"), Date.parse("2027-03-28T10:00:00Z"), STOCKHOLM, 8);
  // 02:00 does not exist that night: the clock goes on with 03:00.
  expect(found.map((tick) => tick.label)).toEqual([
    "22:00",
    "Sun 28 Mar",
    "03:00",
    "04:00",
    "06:00",
    "08:00",
    "10:00",
    "12:00",
  ]);
  expect(found.find((tick) => tick.major)?.at).toBe(Date.parse("2027-03-27T23:00:00Z"));
});

test("a month is ticked by days", () => {
  const found = ticks(Date.parse("2026-11-01T00:00:00Z"), Date.parse("2026-12-01T00:00:00Z"), "UTC", 6);
  expect(found.map((tick) => tick.label)).toEqual(["Sun 1 Nov", "Sun 8 Nov", "Sun 15 Nov", "Sun 22 Nov", "Sun 29 Nov"]);
});
