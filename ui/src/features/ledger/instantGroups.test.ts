import { describe, expect, it } from "vitest";

import type { ScheduleInstant } from "@/api/schema";

import { groupInstants, reasonOf, spanFor } from "./instantGroups";

const instant = (minute: number, outcome: ScheduleInstant["outcome"], reason = ""): ScheduleInstant => ({
  at: `2026-11-16T02:${String(minute).padStart(2, "0")}:00Z`,
  outcome,
  reason,
  run_id: null,
});

describe("groups of instants", () => {
  it("are newest first, and equal outcomes without a run are one group", () => {
    const groups = groupInstants([
      instant(0, "ran", "success"),
      instant(1, "missed", "catchup_none"),
      instant(2, "missed", "catchup_none"),
      instant(3, "missed", "catchup_none"),
      instant(4, "ran", "success"),
    ]);
    expect(groups.map((tick) => [tick.first.at.slice(14, 16), tick.count])).toEqual([
      ["04", 1],
      ["01", 3],
      ["00", 1],
    ]);
    expect(groups[1]?.last.at).toContain("02:03");
  });
  it("leaves runs alone, however alike, and does not fold over another reason", () => {
    expect(groupInstants([0, 1, 2, 3].map((minute) => instant(minute, "ran", "success")))).toHaveLength(4);
    expect(
      groupInstants([
        instant(0, "skipped", "overlap"),
        instant(1, "skipped", "overlap"),
        instant(2, "skipped", "paused"),
        instant(3, "skipped", "overlap"),
      ]),
    ).toHaveLength(4);
  });
  it("shows what somebody wants skipped although it lies ahead, and nothing else that a pause will skip", () => {
    const ahead = [instant(5, "skipped", "skipped by eva"), instant(6, "skipped", "paused"), instant(7, "planned")];
    const groups = groupInstants(ahead, Date.parse("2026-11-16T02:04:00Z"));
    expect(groups.map((tick) => tick.first.reason)).toEqual(["", "skipped by eva"]);
    expect(reasonOf(instant(5, "skipped", "skipped by eva"))).toBe("Skipped by eva");
  });
  it("loses no instant", () => {
    const all = Array.from({ length: 50 }, (_, index) => instant(index, index % 7 ? "skipped" : "ran", "overlap"));
    expect(groupInstants(all).reduce((sum, one) => sum + one.count, 0)).toBe(50);
  });
  it("tells nothing of a future that a pause may still spare", () => {
    const instants = [instant(0, "skipped", "paused"), instant(2, "skipped", "paused"), instant(4, "planned")];
    expect(groupInstants(instants, Date.parse("2026-11-16T02:01:00Z")).map((one) => one.first.outcome)).toEqual([
      "planned",
      "skipped",
    ]);
  });
  it("says why", () => {
    expect(reasonOf(instant(0, "skipped", "paused: new key"))).toBe("The schedule was paused: new key");
    expect(reasonOf(instant(0, "skipped", "overlap"))).toContain("still active");
    expect(reasonOf(instant(0, "missed", "something else"))).toBe("something else");
  });
  it("asks for a stretch that fits how often it fires", () => {
    expect(spanFor(["2026-11-16T00:00:00Z", "2026-11-16T00:01:00Z", "2026-11-16T00:02:00Z"], 60)).toBe(3_600_000);
    expect(spanFor([], 60)).toBe(30 * 86_400_000);
  });
});
