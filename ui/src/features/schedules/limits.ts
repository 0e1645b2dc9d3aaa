import type { Schedule } from "@/api/schema";
import { duration } from "@/time/moment";

/** A numeric field of a schedule: how the editor asks for it, and how the settings show it. */
interface Limit {
  name: LimitName;
  /** In the editor. */
  label: string;
  hint: string;
  /** In the summary of the folded section. */
  summary: (value: string) => string;
  /** Its row among the settings; left out without a value, unless `unset` says what that means. */
  title: string;
  shown: (value: number) => string;
  unset?: string;
}

export type LimitName = "timeout_seconds" | "jitter_seconds" | "max_runs";

/** The editor, its request and the page of settings are made from this list: a new field is added here alone. */
export const LIMITS: readonly Limit[] = [
  {
    name: "timeout_seconds",
    label: "Timeout per attempt (s)",
    hint: "Leave empty for the default.",
    summary: (value) => `timeout ${value} s`,
    title: "Timeout",
    shown: (value) => duration(value * 1000),
    unset: "default",
  },
  {
    name: "jitter_seconds",
    label: "Jitter (s)",
    hint: "Spreads starts over this many seconds.",
    summary: (value) => `jitter ${value} s`,
    title: "Jitter",
    shown: (value) => `up to ${duration(value * 1000)}`,
  },
  {
    name: "max_runs",
    label: "Maximum runs",
    hint: "The schedule completes after this many.",
    summary: (value) => `at most ${value} runs`,
    title: "Maximum runs",
    shown: (value) => `${value} runs`,
  },
];

export type LimitInputs = Record<LimitName, string>;

/** The inputs of a schedule, or of a new one. */
export function limitInputs(schedule?: Schedule): LimitInputs {
  const inputs = LIMITS.map(({ name }) => [name, schedule?.[name] ? String(schedule[name]) : ""]);
  return Object.fromEntries(inputs) as LimitInputs;
}
