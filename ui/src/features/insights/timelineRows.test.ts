import { describe, expect, it } from "vitest";

import type { Timeline, TimelineFold, TimelineRow } from "@/api/schema";

import { chainLines, nestedRows, type ShownRow } from "./timelineRows";

const row = (key: string): TimelineRow => ({ key, name: key, marks: [] }) as unknown as TimelineRow;
const fold = (key: string, schedules: number): TimelineFold => ({
  key,
  name: key,
  q: key,
  schedules,
  runs: 1,
  planned: 2,
  marks: [],
});

describe("an opened density row", () => {
  it("shows what is not shown above, and links to the rest", () => {
    const opened = { groups: [row("sch_1"), row("sch_2")], rest: [fold("tag:a", 30), fold("tag:b", 1200)] };
    const rows = nestedRows(fold("tag:a", 1233), opened as unknown as Timeline, new Set(["sch_1"]));
    expect(rows.map((one) => [one.name, one.nested, one.to ?? ""])).toEqual([
      ["sch_2", true, ""],
      ["1,230 more", true, "/schedules?q=tag%3Aa"],
    ]);
    expect(rows[1]?.planned).toBe(4);
  });
});

describe("chains", () => {
  it("have a line between runs that both have a mark", () => {
    const mark = (run: string, at: string, until: string) => ({ run_id: run, at, until, state: "success", count: 1 });
    const rows = [
      { ...row("a"), marks: [mark("run_1", "2027-01-04T12:00:00Z", "2027-01-04T12:01:00Z")] },
      { ...row("b"), marks: [mark("run_2", "2027-01-04T12:01:01Z", "2027-01-04T12:02:00Z")] },
    ] as unknown as ShownRow[];
    const links = [
      { parent: "run_1", child: "run_2" },
      { parent: "run_0", child: "run_1" },
    ];
    const from = { at: Date.parse("2027-01-04T12:01:00Z"), row: 0 };
    const to = { at: Date.parse("2027-01-04T12:01:01Z"), row: 1 };
    expect(chainLines({ links } as unknown as Timeline, rows)).toEqual([{ from, to }]);
  });
});
