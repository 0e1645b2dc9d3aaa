import type { RetrySettings } from "@/api/schema";

export interface Choice {
  value: string;
  label: string;
  says: string;
}

export const OVERLAPS: readonly Choice[] = [
  { value: "skip", label: "Skip", says: "leave the new one out" },
  { value: "buffer_one", label: "Queue one", says: "one waits for its turn" },
  { value: "buffer_all", label: "Queue all", says: "all wait for their turn" },
  { value: "cancel_other", label: "Replace", says: "ask the old one to stop, then run" },
  { value: "terminate_other", label: "Replace at once", says: "end the old one, then run" },
  { value: "allow_all", label: "Allow", says: "let them run side by side" },
];

export const CATCHUPS: readonly Choice[] = [
  { value: "latest", label: "Run once late", says: "run the latest one, late" },
  { value: "all", label: "Run all late", says: "run every one, late" },
  { value: "none", label: "Skip", says: "leave them out" },
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
