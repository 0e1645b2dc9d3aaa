import type { AuditLogEntry } from "@/api/schema";

const EDITS = new Set(["patch", "replace", "tag", "revert"]);

/** Whether the entry is an edit of a schedule whose version is known, so that it can be reverted. */
export const isScheduleEdit = (entry: AuditLogEntry): boolean =>
  entry.thing === "schedule" && EDITS.has(entry.verb) && typeof entry.before?.["version"] === "number";

/** The name in the entry's own record; a deleted thing has no other. */
export function recordedName(entry: AuditLogEntry): string | null {
  const name = entry.after?.["name"] ?? entry.before?.["name"];
  return entry.thing === "schedule" && typeof name === "string" ? name : null;
}
