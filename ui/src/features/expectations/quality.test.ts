import { describe, expect, it } from "vitest";

import type { QualityRun, ScheduleQualityAnswer } from "@/api/schema";

import { expectLines, seriesOf, withExpectation, withoutExpectation } from "./quality";

const run = (at: string, items: number, price: number): QualityRun => ({
  run_id: `run_${at}`,
  state: "success",
  at,
  facts: { items, errors: 0, seconds: null, duplicates: null, coverage: { price }, newest: null },
  verdict: null,
});

const answer = (items: QualityRun[]): ScheduleQualityAnswer => ({
  items,
  baseline: null,
  bands: { items: { median: 50, low: 48, high: 52 } },
  good_runs: 5,
  suggestions: [],
});

describe("data quality", () => {
  it("draws what runs have said, oldest first, with the band of the baseline", () => {
    const newestFirst = [run("2026-01-02T00:00:00Z", 50, 90), run("2026-01-01T00:00:00Z", 48, 100)];
    const drawn = seriesOf(answer([...newestFirst, { ...run("2025-12-31T00:00:00Z", 1, 1), facts: null }]));
    expect(drawn.map((one) => one.name)).toEqual(["items", "errors", "coverage.price"]);
    expect(drawn[0]?.points.map((point) => point.value)).toEqual([48, 50]);
    expect(drawn[0]?.band?.high).toBe(52);
    expect(drawn[2]?.band).toBeNull();
  });

  it("lists, adds and removes expectations of fields by their names", () => {
    const before = { items: ">= 10", coverage: { "offer.price": ">= 95%" } };
    expect(expectLines(before)).toEqual([
      ["items", ">= 10"],
      ["coverage.offer.price", ">= 95%"],
    ]);
    const more = withExpectation(before, { expectation: "coverage.title", value: ">= 90%", why: "" });
    expect(more).toEqual({ items: ">= 10", coverage: { "offer.price": ">= 95%", title: ">= 90%" } });
    expect(withoutExpectation(more, "coverage.offer.price")).toEqual({ items: ">= 10", coverage: { title: ">= 90%" } });
    expect(withoutExpectation({ coverage: { title: ">= 90%" } }, "coverage.title")).toBeNull();
    expect(expectLines({ freshness: { field: "date", within: "<= 2d" } })).toEqual([["freshness", "date <= 2d"]]);
  });
});
