import type { Page, Schedule } from "@/api/calls";
import { ask } from "@/api/client";

const PAGE = 500;
const MOST_PAGES = 40;

/** The documents that would make these schedules again, as `foliot schedule create --file` takes them. */
export async function exported(q: string, chosen: { ids: ReadonlySet<string>; everything: boolean }): Promise<unknown[]> {
  const found: Schedule[] = [];
  let cursor: string | null = null;
  for (let turn = 0; turn < MOST_PAGES; turn += 1) {
    const page: Page<Schedule> = await ask<Page<Schedule>>("/api/schedules", { query: { q, limit: PAGE, cursor } });
    found.push(...page.items.filter((one) => chosen.everything || chosen.ids.has(one.id)));
    cursor = page.next_cursor;
    if (!cursor || (!chosen.everything && found.length === chosen.ids.size)) break;
  }
  return found.map(documentOf);
}

const READ_ONLY: ReadonlySet<string> = new Set([
  "id",
  "tenant_id",
  "user_id",
  "status",
  "next_run_at",
  "last_run_at",
  "summary",
  "version",
  "paused_reason",
  "fault",
  "managed_by",
  "links",
  "created_at",
  "updated_at",
]);

/** A schedule without what only answers carry. */
export function documentOf(schedule: Schedule): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schedule).filter(([name, value]) => !READ_ONLY.has(name) && value !== null));
}

export function download(name: string, content: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}
