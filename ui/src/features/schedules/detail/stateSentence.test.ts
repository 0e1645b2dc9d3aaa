import { describe, expect, it } from "vitest";

import type { Run, Schedule, ScheduleHealth } from "@/api/schema";

import { spell, stateOf } from "./stateSentence";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const schedule = { status: "active", next_run_at: "2026-11-18T12:30:00Z" } as unknown as Schedule;
const run = (state: string, message?: string): Run =>
  ({ id: "run_1", state, error: message ? { message } : null, finished_at: "2026-11-18T11:58:00Z" }) as unknown as Run;
const failing = { failing_since: "2026-11-15T11:00:00Z" } as unknown as ScheduleHealth;

describe("the state of a schedule in one sentence", () => {
  it("says for how long it has been failing, and why", () => {
    const found = stateOf(schedule, failing, [run("failed", "The target answered 429 Too Many Requests.")], NOW);
    expect(found?.text).toBe("Failing for 3 days");
    expect(found?.cause).toBe("The target answered 429 Too Many Requests.");
  });
  it("says that all is well, what runs now, and what is late", () => {
    expect(stateOf(schedule, undefined, [run("success")], NOW)?.text).toBe(
      "Healthy: last run succeeded 2 m ago, next run in 30 m",
    );
    expect(stateOf(schedule, undefined, [run("running"), run("success")], NOW)?.state).toBe("running");
    const late = { ...schedule, next_run_at: "2026-11-18T11:50:00Z" } as Schedule;
    expect(stateOf(late, undefined, [], NOW)?.text).toBe("Late: due 10 m ago");
    expect(stateOf(schedule, undefined, [], NOW)?.text).toBe("Never run; next run in 30 m");
  });
  it("does not call a schedule healthy whose data broke an expectation", () => {
    const found = stateOf(schedule, undefined, [run("degraded", "3 items, expected at least 10"), run("success")], NOW);
    expect([found?.tone, found?.state, found?.cause]).toEqual([
      "attention",
      "degraded",
      "3 items, expected at least 10",
    ]);
  });
  it("ignores cancelled runs, and still names the failure of a paused schedule", () => {
    expect(stateOf(schedule, undefined, [run("cancelled"), run("success")], NOW)?.state).toBe("success");
    const paused = { ...schedule, status: "paused", next_run_at: null } as unknown as Schedule;
    expect(stateOf(paused, failing, [run("dead_letter", "x")], NOW)?.tone).toBe("failed");
    expect(stateOf(paused, undefined, [run("success")], NOW)).toBeNull();
  });
  it("counts failures beyond those that the health knows", () => {
    const many = Array.from({ length: 37 }, (_, index) => ({
      ...run("failed", "x"),
      finished_at: new Date(NOW - index * 3_600_000).toISOString(),
    }));
    const found = stateOf(
      schedule,
      { ...failing, streak: 20, failing_since: many[19]?.finished_at } as ScheduleHealth,
      [...many, run("success")],
      NOW,
    );
    expect([found?.text, found?.streak]).toEqual(["Failing for 1 day", 37]);
  });
  it("spells durations", () => {
    expect([30_000, 60_000, 7_200_000, 90_000_000].map(spell)).toEqual([
      "less than a minute",
      "1 minute",
      "2 hours",
      "1 day",
    ]);
  });
});
