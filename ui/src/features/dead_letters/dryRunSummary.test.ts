import { describe, expect, it } from "vitest";

import type { BulkDryRun } from "@/api/schema";

import { settingsNote } from "./DryRunSummary";

const REHEARSAL = {
  looked_at: 1,
  duplicates: 0,
  changed: 1,
  stay: 0,
  edited: 0,
  refused: 0,
  refusals: [],
  replays_most: 0,
  replays_cap: 10,
};

function trial(
  count: number,
  version: number | null,
  follows: number | null,
  more: Partial<typeof REHEARSAL> = {},
): BulkDryRun {
  const sample = [
    { id: "run_1", kind: "webhook", name: "mine", state: "dead_letter", message: "no", version, follows, replays: 0 },
  ];
  return { dry_run: true, count, sample, hosts: [], warnings: [], rehearsal: { ...REHEARSAL, ...more } };
}

describe("the settings that a replay follows", () => {
  it("are told by their versions, when there is one letter", () => {
    expect(settingsNote(trial(1, 2, 3), "now")).toBe("Uses the current settings: version 3; it failed with version 2.");
    expect(settingsNote(trial(1, 2, 2), "then")).toBe("Uses the settings at failure: version 2.");
    expect(settingsNote(trial(1, 2, 2), "now")).toContain("version 2, the same as at failure");
    expect(settingsNote(trial(1, 2, 2, { stay: 1 }), "now")).toContain("settings at failure");
  });

  it("are counted, when there are many or no schedule", () => {
    expect(settingsNote(trial(31, 2, 3, { changed: 30 }), "now")).toBe(
      "Uses the current settings, which have changed for 30 since they failed.",
    );
    expect(settingsNote(trial(31, 2, 2, { changed: 0 }), "now")).toContain("unchanged since they failed");
    expect(settingsNote(trial(1, null, null, { changed: 0 }), "then")).toContain("settings at failure");
  });
});
