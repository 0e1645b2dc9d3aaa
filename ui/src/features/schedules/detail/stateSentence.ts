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
  /** How many runs failed in a row. */
  streak?: number;
}

/** The newest runs that failed in a row; cancelled and open ones neither mend nor fail. */
export function failuresInARow(runs: readonly Run[]): Run[] {
  const ended = runs.filter((run) => !OPEN.has(run.state) && run.state !== "cancelled");
  const good = ended.findIndex((run) => !FAILED.has(run.state));
  return good < 0 ? ended : ended.slice(0, good);
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
    // The health knows the newest twenty runs, and the list at hand often more.
    const row = failuresInARow(runs);
    const first = row.at(-1)?.finished_at ?? null;
    const known = [health?.failing_since ?? null, first].filter((at): at is string => at !== null).sort();
    const text = known[0] ? `Failing for ${spell(now - millis(known[0]))}` : "The last run failed";
    const streak = Math.max(row.length, health?.streak ?? 0);
    return { tone: "failed", state: ended.state, text, cause: ended.error?.message, run: ended.id, streak };
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
  const ending =
    schedule.type === "after"
      ? `next run ${schedule.summary.charAt(0).toLowerCase()}${schedule.summary.slice(1)}`
      : "no runs to come";
  const next = schedule.next_run_at ? `next run ${relative(schedule.next_run_at, now)}` : ending;
  if (!ended) return { tone: "neutral", state: "scheduled", text: `Never run; ${next}` };
  if (ended.state === "degraded")
    return {
      tone: "attention",
      state: "degraded",
      text: "The data of the last run broke an expectation",
      cause: ended.error?.message,
      run: ended.id,
    };
  if (ended.state === "partial")
    return { tone: "attention", state: "partial", text: `The last run succeeded in part; ${next}`, run: ended.id };
  return {
    tone: "success",
    state: "success",
    text: `Healthy: last run succeeded ${relative(ended.finished_at ?? ended.created_at, now)}, ${next}`,
  };
}
