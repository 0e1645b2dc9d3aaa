import { describe, expect, test } from "vitest";

import {
  absolute,
  both,
  brief,
  bytes,
  clock,
  duration,
  exact,
  humane,
  percent,
  relative,
  short,
  titleTime,
} from "./format";

const STOCKHOLM = "Europe/Stockholm";
const ANGELES = "America/Los_Angeles";
const at = (text: string): number => Date.parse(text);

describe("durations are as people say them", () => {
  test.each([
    [0, "0 ms"],
    [840, "840 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [4200, "4.2 s"],
    [9960, "10 s"],
    [59_400, "59 s"],
    [59_600, "1 m"],
    [252_000, "4 m 12 s"],
    [3_599_900, "1 h"],
    [11_100_000, "3 h 5 m"],
    [187_200_000, "2 d 4 h"],
    [-1500, "−1.5 s"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("%s ms is %s", (ms, text) => expect(duration(ms)).toBe(text));
});

test("the time in a title names today and yesterday, and never lacks its zone", () => {
  const now = at("2026-11-16T12:00:00Z");
  expect(titleTime("2026-11-16T11:00:00Z", STOCKHOLM, now)).toBe("today 12:00 CET");
  expect(titleTime("2026-11-15T22:59:00Z", STOCKHOLM, now)).toBe("yesterday 23:59 CET");
  expect(titleTime("2026-11-14T11:00:00Z", STOCKHOLM, now)).toBe("Sat 14 Nov 12:00 CET");
});

test("a moment below a day is relative, beyond it absolute with its zone", () => {
  const now = at("2026-11-16T12:00:00Z");
  expect(relative(now + 245_000, now)).toBe("in 4 m");
  expect(relative(now - 245_000, now)).toBe("4 m ago");
  expect(relative(now - 300, now)).toBe("now");
  expect(humane(now + 23 * 3_600_000, STOCKHOLM, now)).toBe("in 23 h");
  expect(humane(now + 25 * 3_600_000, STOCKHOLM, now)).toBe("Tue 17 Nov 14:00 CET");
});

test("no clock time is without its zone, and winter is not summer", () => {
  const now = at("2026-11-16T12:00:00Z");
  expect(absolute("2026-11-16T01:30:00Z", STOCKHOLM, now)).toBe("Mon 16 Nov 02:30 CET");
  expect(absolute("2026-07-16T01:30:00Z", STOCKHOLM, now)).toBe("Thu 16 Jul 03:30 CEST");
  expect(absolute("2026-11-16T01:30:00Z", ANGELES, now)).toBe("Sun 15 Nov 17:30 PST");
  expect(absolute("2026-11-16T01:30:00Z", "UTC", now)).toBe("Mon 16 Nov 01:30 UTC");
  expect(absolute("2027-01-02T01:30:00Z", "UTC", now)).toBe("Sat 2 Jan 2027 01:30 UTC");
  expect(short("2026-11-16T01:30:00Z", STOCKHOLM, now)).toBe("02:30 CET");
  expect(clock("2026-11-16T01:30:04.120Z", STOCKHOLM, "milli")).toBe("02:30:04.120");
});

test("midnight is 00, not 24", () => expect(clock("2026-11-15T23:00:00Z", STOCKHOLM)).toBe("00:00"));

test("a schedule in another zone is shown in both", () => {
  const now = at("2026-11-14T12:00:00Z");
  expect(both("2026-11-16T01:30:00Z", STOCKHOLM, ANGELES, now)).toEqual([
    "Mon 16 Nov 02:30 CET",
    "Sun 17:30 PST for you",
  ]);
  expect(both("2026-11-16T14:00:00Z", STOCKHOLM, ANGELES, now)).toEqual(["Mon 16 Nov 15:00 CET", "06:00 PST for you"]);
  expect(both("2026-11-16T01:30:00Z", STOCKHOLM, "Europe/Paris", now)).toEqual(["Mon 16 Nov 02:30 CET", null]);
});

test("hovering tells ISO 8601 and the distance", () => {
  expect(exact("2026-11-16T01:30:00Z", at("2026-11-16T01:31:00Z"))).toBe("2026-11-16T01:30:00.000Z · 1 m ago");
});

test("numbers are short but never nicer than they are", () => {
  expect(percent(0.9997)).toBe("99.9%");
  expect(percent(1)).toBe("100%");
  expect(percent(0.984)).toBe("98.4%");
  expect(percent(null)).toBe("–");
  expect([brief(1284), brief(12_400), brief(3_100_000)]).toEqual(["1,284", "12.4 k", "3.1 M"]);
  expect([12, 16_384, 52_428_800, 3 * 1024 ** 3].map(bytes)).toEqual(["12 B", "16.0 KB", "50.0 MB", "3.0 GB"]);
});
