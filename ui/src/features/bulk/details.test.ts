import { expect, test } from "vitest";

import { detailsOf } from "./details";

const NOW = Date.parse("2026-11-18T12:00:00Z");

test("the parameters of a bulk action are shown in words", () => {
  expect(detailsOf({ as_of: "then", canary: 1, patch: { body: null } }, "UTC", NOW)).toEqual([
    ["Settings", "settings at failure"],
    ["Canary", "1 sent first; the others follow if they succeed"],
    ["Edit", '{"body":null}'],
  ]);
  expect(detailsOf({ add_tags: ["nightly", "prices"], remove_tags: [] }, "UTC", NOW)).toEqual([
    ["Tags added", "nightly, prices"],
  ]);
  expect(detailsOf(null, "UTC", NOW)).toEqual([]);
});

test("a backfill has its period, and its schedule is named elsewhere", () => {
  const details = {
    schedule_id: "sch_1",
    schedule_name: "prices",
    from: "2026-11-17T00:00:00Z",
    to: "2026-11-18T00:00:00Z",
    which: "missing",
  };
  const found = detailsOf(details, "UTC", NOW);
  expect(found.map(([name]) => name)).toEqual(["Period", "Scheduled times"]);
  expect(found[1]?.[1]).toBe("missing or failed");
});
