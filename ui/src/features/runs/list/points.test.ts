import { expect, test } from "vitest";

import { durationDomain, durationTicks, indicesByTime, LAYERS, legendOf, PointIndex, shapeOf } from "./points";

test("the nearest point is found, across the edges of squares, and none that is too far", () => {
  const finder = new PointIndex(Float32Array.of(11, 13, 100), Float32Array.of(11, 11, 100));
  expect(finder.nearest({ x: 11.5, y: 12 })).toBe(0);
  expect(finder.nearest({ x: 12.5, y: 12 })).toBe(1);
  expect(finder.nearest({ x: 108, y: 95 })).toBe(2);
  expect(finder.nearest({ x: 50, y: 50 })).toBeNull();
});

test("of points at one place, the one drawn on top is found", () => {
  const finder = new PointIndex(Float32Array.of(10, 10.5, 20), Float32Array.of(10, 10, 10), 12, Uint8Array.of(0, 6, 7));
  expect(finder.nearest({ x: 10, y: 10 })).toBe(1);
  expect(finder.nearest({ x: 14, y: 10 })).toBe(1);
  expect(finder.nearest({ x: 17, y: 10 })).toBe(2);
});

test("the nearest of many is the one that looking at each would find", () => {
  const made = (seed: number): Float32Array =>
    Float32Array.from({ length: 2000 }, (_, index) => ((index * seed) % 997) * 0.4);
  const [xs, ys] = [made(331), made(577)];
  const finder = new PointIndex(xs, ys);
  for (let turn = 0; turn < 200; turn += 1) {
    const [x, y] = [(turn * 7.3) % 400, (turn * 13.7) % 400];
    let [best, far]: [number | null, number] = [null, 12];
    for (let index = 0; index < xs.length; index += 1) {
      const gap = Math.hypot((xs[index] as number) - x, (ys[index] as number) - y);
      if (gap < far) [best, far] = [index, gap];
    }
    expect(finder.nearest({ x, y })).toBe(best);
  }
});

test("the axis has room for the shortest and the longest, and for runs that are all alike", () => {
  expect(durationDomain([5, 5000])).toEqual([4, 6250]);
  const [low, high] = durationDomain([300, 300]);
  expect([Math.round(low), Math.round(high)]).toEqual([95, 949]);
  expect(durationDomain([0])[0]).toBeGreaterThan(0);
  expect(durationDomain([])[1]).toBeGreaterThan(durationDomain([])[0]);
});

test("the axis names round durations", () => {
  expect(durationTicks(4, 6250)).toEqual([10, 100, 1000]);
  expect(durationTicks(3, 700_000)).toEqual([10, 100, 1000, 10_000, 60_000, 600_000]);
  expect(durationTicks(95, 949)).toEqual([100, 200, 500]);
  expect(durationTicks(1, 1e9)).toHaveLength(5);
});

test("every state has a layer, and failures their own shapes", () => {
  expect(new Set(LAYERS).size).toBe(9);
  expect(
    new Set(["success", "partial", "failed", "dead_letter", "cancelled", "running", "retrying"].map(shapeOf)).size,
  ).toBe(7);
});

test("a sample says of how many", () => {
  expect(legendOf({ counts: { failed: 2, success: 500 }, shown: { success: 98, failed: 2 } })).toEqual([
    { state: "success", count: 500, shown: 98 },
    { state: "failed", count: 2, shown: 2 },
  ]);
});

test("keys walk through time, whatever the order of the answer", () => {
  const points = { at_ms: [30, 10, 20] } as Parameters<typeof indicesByTime>[0];
  expect(indicesByTime(points)).toEqual([1, 2, 0]);
});
