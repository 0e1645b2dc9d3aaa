import { describe, expect, it } from "vitest";

import type { Timeline, TimelineFold, TimelineRow } from "@/api/schema";

import { nestedRows } from "./timelineRows";

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
