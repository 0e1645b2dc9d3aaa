import { expect, test } from "vitest";

import type { TrailEntry } from "@/api/calls";

import { isEdit, nameIn } from "./edits";

const entry = (more: Partial<TrailEntry>): TrailEntry =>
  ({ thing: "schedule", verb: "patch", before: { version: 1 }, after: { version: 2 }, ...more }) as TrailEntry;

test("edits of a schedule can be taken back, and nothing else", () => {
  for (const verb of ["patch", "replace", "tag", "revert"]) expect(isEdit(entry({ verb }))).toBe(true);
  for (const verb of ["create", "pause", "resume", "delete", "run_now"]) expect(isEdit(entry({ verb }))).toBe(false);
  expect(isEdit(entry({ thing: "tenant", verb: "replace" }))).toBe(false);
  expect(isEdit(entry({ verb: "replace", before: { fault: "damaged" } }))).toBe(false);
  expect(isEdit(entry({ before: null }))).toBe(false);
});

test("a schedule is called what it became, or what it was", () => {
  expect(nameIn(entry({ before: { name: "Old" }, after: { name: "New" } }))).toBe("New");
  expect(nameIn(entry({ before: { name: "Old" }, after: { status: "deleted" } }))).toBe("Old");
  expect(nameIn(entry({}))).toBeNull();
  expect(nameIn(entry({ thing: "key", after: { name: "a key" } }))).toBeNull();
});
