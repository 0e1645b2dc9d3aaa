import type { RunOutcome } from "@/api/schema";

export const STRIP = 20;

export interface StripBar {
  outcome: RunOutcome;
  /** Which of the 20 places, the newest at the right. */
  place: number;
  /** From 0 to 1: the longest is 1. */
  height: number;
}

/** Bars as high as the runs were long; by the square root, so that one slow run does not flatten the rest. */
export function outcomeBars(outcomes: readonly RunOutcome[]): StripBar[] {
  const last = outcomes.slice(-STRIP);
  const longest = Math.max(...last.map((one) => one.duration_ms ?? 0), 1);
  const empty = STRIP - last.length;
  return last.map((outcome, index) => ({
    outcome,
    place: empty + index,
    height: Math.max(Math.sqrt((outcome.duration_ms ?? 0) / longest), 0.18),
  }));
}

const COUNTED = ["success", "partial", "degraded", "failed", "dead_letter", "cancelled"] as const;
const WORDS = {
  success: "succeeded",
  partial: "in part",
  degraded: "degraded",
  failed: "failed",
  dead_letter: "dead",
  cancelled: "cancelled",
};

/** "18 succeeded, 2 failed": the text alternative of the strip. */
export function outcomeSummary(outcomes: readonly RunOutcome[]): string {
  const parts = COUNTED.map(
    (state) => [outcomes.filter((outcome) => outcome.state === state).length, WORDS[state]] as const,
  )
    .filter(([count]) => count)
    .map(([count, word]) => `${count} ${word}`);
  return parts.length ? `Last ${outcomes.length}: ${parts.join(", ")}` : "Never run";
}
