import { describe, expect, it } from "vitest";

import type { CalendarCell, Instant, Run } from "@/api/calls";

import { daysOf, levelOf, monthsOf, weekday, weeksOf } from "./heat";
import { reasonOf, stretchOf, ticksOf } from "./honest";
import { lagClasses, quantile, statsOf } from "./stats";

const tick = (minute: number, outcome: Instant["outcome"], reason = ""): Instant => ({
  at: `2026-11-16T02:${String(minute).padStart(2, "0")}:00Z`,
  outcome,
  reason,
  run_id: null,
});

describe("honest ticks", () => {
  it("are newest first, and equal silences are one line", () => {
    const ticks = ticksOf([
      tick(0, "ran", "success"),
      tick(1, "missed", "catchup_none"),
      tick(2, "missed", "catchup_none"),
      tick(3, "missed", "catchup_none"),
      tick(4, "ran", "success"),
    ]);
    expect(ticks.map((one) => [one.first.at.slice(14, 16), one.count])).toEqual([
      ["04", 1],
      ["01", 3],
      ["00", 1],
    ]);
    expect(ticks[1]?.last.at).toContain("02:03");
  });
  it("leaves runs alone, however alike, and does not fold over another reason", () => {
    expect(ticksOf([0, 1, 2, 3].map((minute) => tick(minute, "ran", "success")))).toHaveLength(4);
    expect(
      ticksOf([
        tick(0, "skipped", "overlap"),
        tick(1, "skipped", "overlap"),
        tick(2, "skipped", "paused"),
        tick(3, "skipped", "overlap"),
      ]),
    ).toHaveLength(4);
  });
  it("shows what somebody wants skipped although it lies ahead, and nothing else that a pause will skip", () => {
    const ahead = [tick(5, "skipped", "skipped by eva"), tick(6, "skipped", "paused"), tick(7, "planned")];
    const ticks = ticksOf(ahead, Date.parse("2026-11-16T02:04:00Z"));
    expect(ticks.map((one) => one.first.reason)).toEqual(["", "skipped by eva"]);
    expect(reasonOf(tick(5, "skipped", "skipped by eva"))).toBe("eva wanted it skipped");
  });
  it("loses no instant", () => {
    const all = Array.from({ length: 50 }, (_, index) => tick(index, index % 7 ? "skipped" : "ran", "overlap"));
    expect(ticksOf(all).reduce((sum, one) => sum + one.count, 0)).toBe(50);
  });
  it("tells nothing of a future that a pause may still spare", () => {
    const instants = [tick(0, "skipped", "paused"), tick(2, "skipped", "paused"), tick(4, "planned")];
    expect(ticksOf(instants, Date.parse("2026-11-16T02:01:00Z")).map((one) => one.first.outcome)).toEqual([
      "planned",
      "skipped",
    ]);
  });
  it("says why", () => {
    expect(reasonOf(tick(0, "skipped", "paused: new key"))).toBe("The schedule was paused: new key");
    expect(reasonOf(tick(0, "skipped", "overlap"))).toContain("still ran");
    expect(reasonOf(tick(0, "missed", "something else"))).toBe("something else");
  });
  it("asks for a stretch that fits how often it fires", () => {
    expect(stretchOf(["2026-11-16T00:00:00Z", "2026-11-16T00:01:00Z", "2026-11-16T00:02:00Z"], 60)).toBe(3_600_000);
    expect(stretchOf([], 60)).toBe(30 * 86_400_000);
  });
});

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
    expect(days.map((one) => [one.date, one.runs, one.failures, one.planned])).toEqual([
      ["2026-11-15", 2, 0, 1],
      ["2026-11-16", 7, 3, 2],
    ]);
  });
  it("puts Monday first and leaves gaps at the ends", () => {
    expect(weekday("2026-11-16")).toBe(0);
    expect(weekday("2026-11-15")).toBe(6);
    const weeks = weeksOf(daysOf(["14", "15", "16", "17"].map((day) => cell(`2026-11-${day}T00:00:00+01:00`, 1))));
    expect(weeks.map((week) => week.map((one) => one?.date.slice(8) ?? "")).map((week) => week.join())).toEqual([
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

describe("stats", () => {
  const run = (state: Run["state"], duration_ms: number | null, lateness_ms: number | null): Run =>
    ({ state, duration_ms, lateness_ms }) as Run;
  it("interpolates", () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([], 0.5)).toBeNull();
  });
  it("does not count cancelled runs for or against", () => {
    const stats = statsOf([
      run("success", 100, 5),
      run("partial", 300, 5),
      run("dead_letter", 9, 70_000),
      run("cancelled", 1, null),
      run("running", null, 5),
    ]);
    expect([stats.judged, stats.fine, stats.ratio, stats.p50, stats.late]).toEqual([3, 2, 2 / 3, 200, 1]);
  });
  it("sorts lag into classes without a gap", () => {
    expect(
      lagClasses([0, 99, 100, 999, 1000, 59_999, 60_000].map((ms) => run("success", 1, ms))).map((one) => one.count),
    ).toEqual([2, 2, 1, 1, 1]);
  });
});
