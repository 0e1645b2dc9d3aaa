import type { RetrySettings } from "@/api/schema";

export interface Choice {
  value: string;
  label: string;
  says: string;
}

export const OVERLAPS: readonly Choice[] = [
  { value: "skip", label: "Skip", says: "skip this run" },
  { value: "buffer_one", label: "Queue one", says: "keep one run waiting" },
  { value: "buffer_all", label: "Queue all", says: "keep every run waiting" },
  { value: "cancel_other", label: "Replace", says: "stop the previous run gracefully, then start" },
  { value: "terminate_other", label: "Replace at once", says: "kill the previous run, then start" },
  { value: "allow_all", label: "Allow", says: "run both in parallel" },
];

export const CATCHUPS: readonly Choice[] = [
  { value: "latest", label: "Run latest", says: "run only the latest missed one" },
  { value: "all", label: "Run all", says: "run every missed one" },
  { value: "none", label: "Skip", says: "skip missed runs" },
];

/** Seconds before each retry, before jitter; the same rule as the server's. */
export function delaysOf(policy: RetrySettings, most = 100): number[] {
  return Array.from({ length: Math.min(policy.max_retries, most) }, (_, index) => {
    const growth = policy.strategy === "exponential" ? 2 ** index : policy.strategy === "linear" ? index + 1 : 1;
    return Math.min(policy.delay_seconds * growth, policy.max_delay_seconds);
  });
}

export const DEFAULT_RETRY: RetrySettings = {
  strategy: "exponential",
  max_retries: 3,
  delay_seconds: 10,
  max_delay_seconds: 600,
  jitter: 0.1,
  dead_letter: true,
};
