import { describe, expect, it } from "vitest";

import type { Run } from "@/api/schema";

import { comparedFacts, exchangeOf, sorted } from "./facts";

const run = (changes: Partial<Run>): Run =>
  ({
    state: "success",
    error: null,
    scheduled_for: "2026-11-18T12:00:00Z",
    started_at: "2026-11-18T12:00:00Z",
    lateness_ms: 5,
    duration_ms: 1000,
    attempt: 1,
    max_attempts: 4,
    schedule_version: 1,
    queue: "default",
    priority: 5,
    worker: "w1",
    attempts: [],
    ...changes,
  }) as Run;

describe("two runs compared", () => {
  it("marks the facts that differ", () => {
    const failed = run({ state: "dead_letter", duration_ms: 60_000, attempt: 4 });
    const differing = comparedFacts(failed, run({}), "UTC", Date.parse("2026-11-18T13:00:00Z")).filter(
      (fact) => fact.differs,
    );
    expect(differing.map((fact) => [fact.name, fact.one, fact.other])).toEqual([
      ["State", "dead letter", "success"],
      ["Duration", "1 m", "1.0 s"],
      ["Attempts", "4 of 4", "1 of 4"],
    ]);
  });
  it("compares requests and answers whatever the order of their keys", () => {
    expect(sorted({ b: 1, a: { d: 1, c: 2 } })).toBe(sorted({ a: { c: 2, d: 1 }, b: 1 }));
    const sent = run({
      attempts: [{ request: { method: "POST", url: "http://x/", headers: { B: "1" } } }] as unknown as Run["attempts"],
    });
    expect(exchangeOf(sent, "request")).toContain("POST http://x/");
    expect(exchangeOf(sent, "response")).toBe("");
  });
});
