import type { Run } from "@/api/calls";
import type { Asking } from "@/api/client";
import type { Replayed } from "@/api/schema";

type Act = <T>(path: string, asking?: Asking, done?: string) => Promise<T | null>;

/** A dead letter that nobody has settled. */
export const isLetter = (run: Run): boolean => run.state === "dead_letter" && run.resolved_by === null;

/** The same again: a letter is replayed, so that it is settled when that succeeds; any other run is retried. */
export async function again(act: Act, run: Run, more: Record<string, unknown> = {}): Promise<Run | null> {
  if (!isLetter(run)) return act<Run>(`/api/runs/${run.id}/retry`);
  const sent = await act<Replayed>("/api/dead-letters/replay", { body: { ids: [run.id], ...more } });
  return sent?.items[0] ?? null;
}

/** By which settings the new one goes, where that is not what the old one went by. */
export function bySettings(old: Run, made: Run): string {
  if (made.schedule_version === null || made.schedule_version === old.schedule_version) return "";
  return `, with the settings of now: version ${made.schedule_version}; it failed under version ${old.schedule_version}`;
}
