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
  it("have a line between rows that are shown", () => {
    const times = { ended_at: "2027-01-04T12:01:00Z", began_at: "2027-01-04T12:01:01Z" };
    const links = [
      { parent: "run_1", child: "run_2", parent_key: "a", child_key: "b", ...times },
      { parent: "run_0", child: "run_1", parent_key: "folded", child_key: "a", ...times },
    ];
    const from = { at: Date.parse(times.ended_at), row: 0 };
    const to = { at: Date.parse(times.began_at), row: 1 };
    const rows = [row("a"), row("b")] as ShownRow[];
    expect(chainLines({ links } as unknown as Timeline, rows)).toEqual([{ from, to }]);
  });
});
