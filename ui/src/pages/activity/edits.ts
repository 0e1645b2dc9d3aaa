import type { TrailEntry } from "@/api/calls";

const EDITS = new Set(["patch", "replace", "tag", "revert"]);

/** Whether it changed the settings of a schedule, and tells of which version: then it can be taken back. */
export const isEdit = (entry: TrailEntry): boolean =>
  entry.thing === "schedule" && EDITS.has(entry.verb) && typeof entry.before?.["version"] === "number";

/** What the thing was called when it was written down; of one that is gone there is no other name. */
export function nameIn(entry: TrailEntry): string | null {
  const name = entry.after?.["name"] ?? entry.before?.["name"];
  return entry.thing === "schedule" && typeof name === "string" ? name : null;
}
