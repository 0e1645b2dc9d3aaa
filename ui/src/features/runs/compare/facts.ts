import type { LogLine, Run } from "@/api/schema";
import { absolute, duration } from "@/time/moment";

export interface ComparedFact {
  name: string;
  one: string;
  other: string;
  differs: boolean;
}

/** Why a run was created that has no scheduled time. */
const ORIGINS: Record<string, string> = { after: "after another run", replay: "replay", manual: "manual" };

const factsOf = (run: Run, zone: string, now: number): [string, string][] => [
  ["State", run.state.replace("_", " ")],
  ["Error", run.error?.message ?? "none"],
  [
    "Scheduled",
    run.scheduled_for ? absolute(run.scheduled_for, zone, now, "second") : (ORIGINS[run.origin] ?? run.origin),
  ],
  ["Started", run.started_at ? absolute(run.started_at, zone, now, "second") : "not yet"],
  ["Start delay", duration(run.lateness_ms)],
  ["Duration", duration(run.duration_ms)],
  ["Attempts", `${run.attempt} of ${run.max_attempts}`],
  ["Settings", run.schedule_version === null ? "of the request" : `version ${run.schedule_version}`],
  ["Queue", `${run.queue}, priority ${run.priority}`],
  ["Worker", run.worker ?? "none"],
];

/** The facts of two runs side by side. */
export function comparedFacts(one: Run, other: Run, zone: string, now: number): ComparedFact[] {
  const others = new Map(factsOf(other, zone, now));
  return factsOf(one, zone, now).map(([name, text]) => {
    const beside = others.get(name) ?? "";
    return { name, one: text, other: beside, differs: text !== beside };
  });
}

/** The newest attempt's request or response as text that can be compared line by line. */
export function exchangeOf(run: Run, part: "request" | "response"): string {
  const value = run.attempts.at(-1)?.[part];
  if (!value) return "";
  if (part === "request") {
    const { method, url, headers } = value as { method: string; url: string; headers: unknown };
    return `${method} ${url}\n${sorted(headers)}`;
  }
  return sorted(value);
}

/** JSON with its keys in order: two documents of the same content are the same text. */
export const sorted = (value: unknown): string =>
  JSON.stringify(
    value,
    (_, inner: unknown) =>
      inner && typeof inner === "object" && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
        : inner,
    2,
  ) ?? "";

/** Times differ between any two runs, so lines are compared without them. */
export const logText = (lines: readonly LogLine[]): string =>
  lines.map((line) => `${line.level.toUpperCase().padEnd(7)} ${line.message}`).join("\n");
