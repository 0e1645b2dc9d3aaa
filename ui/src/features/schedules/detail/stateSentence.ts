import type { Run, Schedule, ScheduleHealth } from "@/api/schema";
import type { Tone } from "@/parts/state/states";
import { millis, number, relative } from "@/time/moment";

export interface StateSentence {
  tone: Tone;
  state: string;
  text: string;
  /** Why, in the words of the newest failure. */
  cause?: string;
  /** The run that shows it. */
  run?: string;
}

const FAILED: ReadonlySet<string> = new Set(["failed", "dead_letter"]);
const OPEN: ReadonlySet<string> = new Set(["queued", "running", "retrying"]);
const GRACE = 60_000;

/** "3 days", "5 hours", "12 minutes": how long something has lasted. */
export function spell(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
  ];
  for (const [size, word] of units) {
    const count = Math.floor(ms / size);
    if (count >= 1) return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
  }
  return "less than a minute";
}

/** The state of a schedule in one sentence, by its newest runs. */
export function stateOf(
  schedule: Schedule,
  health: ScheduleHealth | undefined,
  runs: readonly Run[],
  now: number,
): StateSentence | null {
  const ended = runs.find((run) => !OPEN.has(run.state) && run.state !== "cancelled");
  const open = runs.find((run) => OPEN.has(run.state));
  if (schedule.status === "deleted") return null;
  if (ended && FAILED.has(ended.state)) {
    const since = health?.failing_since;
    const text = since ? `Failing for ${spell(now - millis(since))}` : "The last run failed";
    return { tone: "failed", state: ended.state, text, cause: ended.error?.message, run: ended.id };
  }
  if (schedule.status === "paused") return null;
  if (schedule.next_run_at && now - millis(schedule.next_run_at) > GRACE)
    return { tone: "attention", state: "late", text: `Late: due ${relative(schedule.next_run_at, now)}` };
  if (open) {
    const word = { queued: "Waiting for a worker", running: "Running now", retrying: "Retrying" }[
      open.state as "queued"
    ];
    return { tone: "running", state: open.state, text: word, cause: open.error?.message, run: open.id };
  }
  const next = schedule.next_run_at ? `next run ${relative(schedule.next_run_at, now)}` : "no runs to come";
  if (!ended) return { tone: "neutral", state: "scheduled", text: `Never run; ${next}` };
  if (ended.state === "partial")
    return { tone: "attention", state: "partial", text: `The last run finished in part; ${next}`, run: ended.id };
  return {
    tone: "success",
    state: "success",
    text: `Healthy: last run succeeded ${relative(ended.finished_at ?? ended.created_at, now)}, ${next}`,
  };
}
