import { expect, test } from "vitest";

import type { AuditLogEntry } from "@/api/schema";

import { isScheduleEdit, recordedName } from "./edits";

const entry = (more: Partial<AuditLogEntry>): AuditLogEntry =>
  ({ thing: "schedule", verb: "patch", before: { version: 1 }, after: { version: 2 }, ...more }) as AuditLogEntry;

test("edits of a schedule can be taken back, and nothing else", () => {
  for (const verb of ["patch", "replace", "tag", "revert"]) expect(isScheduleEdit(entry({ verb }))).toBe(true);
  for (const verb of ["create", "pause", "resume", "delete", "run_now"])
    expect(isScheduleEdit(entry({ verb }))).toBe(false);
  expect(isScheduleEdit(entry({ thing: "tenant", verb: "replace" }))).toBe(false);
  expect(isScheduleEdit(entry({ verb: "replace", before: { fault: "damaged" } }))).toBe(false);
  expect(isScheduleEdit(entry({ before: null }))).toBe(false);
});

test("a thing is called what it became, or what it was", () => {
  expect(recordedName(entry({ before: { name: "Old" }, after: { name: "New" } }))).toBe("New");
  expect(recordedName(entry({ before: { name: "Old" }, after: { status: "deleted" } }))).toBe("Old");
  expect(recordedName(entry({}))).toBeNull();
  expect(recordedName(entry({ thing: "channel", after: { name: "ops" } }))).toBe("ops");
  expect(recordedName(entry({ thing: "key", after: { name: "a key" } }))).toBeNull();
});
