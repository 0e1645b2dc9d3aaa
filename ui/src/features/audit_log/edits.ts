import type { AuditLogEntry } from "@/api/schema";

const EDITS = new Set(["patch", "replace", "tag", "revert"]);

/** Whether the entry is an edit of a schedule whose version is known, so that it can be reverted. */
export const isScheduleEdit = (entry: AuditLogEntry): boolean =>
  entry.thing === "schedule" && EDITS.has(entry.verb) && typeof entry.before?.["version"] === "number";

/** Things that have a name; the server names others, such as keys. */
const NAMED = new Set(["schedule", "channel", "alert_rule", "monitor", "watch", "view"]);

/** The name in the entry's own record; a deleted thing has no other. */
export function recordedName(entry: AuditLogEntry): string | null {
  const name = entry.after?.["name"] ?? entry.before?.["name"];
  return NAMED.has(entry.thing) && typeof name === "string" ? name : null;
}
