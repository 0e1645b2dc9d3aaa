import type { ReplayRequest, Run } from "@/api/schema";
import type { Command } from "@/parts/useCommand";

/** Whether the run is an unresolved dead letter. */
export const isOpenDeadLetter = (run: Run): boolean => run.state === "dead_letter" && run.resolved_by === null;

/** Repeats a run: a dead letter is replayed, which resolves it on success; any other run is retried. */
export async function repeat(
  act: Command,
  run: Run,
  more: Pick<ReplayRequest, "as_of" | "patch"> = {},
): Promise<Run | null> {
  if (!isOpenDeadLetter(run)) return act("POST", "/api/runs/{run_id}/retry", { params: { run_id: run.id } });
  const sent = await act("POST", "/api/dead-letters/replay", { body: { ids: [run.id], ...more } });
  return sent?.items[0] ?? null;
}

/** A note on the settings of the new run, where they differ from those of the old one. */
export function settingsNote(old: Run, made: Run): string {
  if (made.schedule_version === null || made.schedule_version === old.schedule_version) return "";
  return `, with the current settings: version ${made.schedule_version}; it failed with version ${old.schedule_version}`;
}
