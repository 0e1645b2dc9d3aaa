import { describe, expect, it } from "vitest";

import type { Run } from "@/api/schema";

import { lagClasses, quantile, statsOf } from "./stats";

describe("stats", () => {
  const run = (state: Run["state"], duration_ms: number | null, lateness_ms: number | null): Run =>
    ({ state, duration_ms, lateness_ms }) as Run;
  it("interpolates", () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([], 0.5)).toBeNull();
  });
  it("counts partial runs as judged but not as fine, and cancelled runs as neither", () => {
    const stats = statsOf([
      run("success", 100, 5),
      run("partial", 300, 5),
      run("dead_letter", 9, 70_000),
      run("cancelled", 1, null),
      run("running", null, 5),
    ]);
    expect([stats.judged, stats.fine, stats.ratio, stats.p50, stats.late]).toEqual([3, 1, 1 / 3, 200, 1]);
  });
  it("sorts lag into classes without a gap", () => {
    expect(
      lagClasses([0, 99, 100, 999, 1000, 59_999, 60_000].map((ms) => run("success", 1, ms))).map((one) => one.count),
    ).toEqual([2, 2, 1, 1, 1]);
  });
});
