import { expect, test } from "vitest";

import { lookOf } from "@/parts/state/states";

import { stateOf } from "./steps";

test("a step has a state that is known", () => {
  expect([stateOf({ state: "done", failed: 0 }), stateOf({ state: "done", failed: 2 })]).toEqual([
    "success",
    "partial",
  ]);
  for (const state of ["waiting", "running", "done", "failed", "stopped"])
    expect(lookOf(stateOf({ state, failed: 0 })).means).not.toContain("does not know");
});
