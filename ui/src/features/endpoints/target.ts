import type { EndpointHealth } from "@/api/schema";
import { quoteValue } from "@/features/filters/grammar";

/** The filter of the runs that called an endpoint, and of the schedules that do. */
export const targetFilter = (url: string): string => `target:${quoteValue(url)}`;

/** The filter of an endpoint's dead letters since a given time. */
export const deadLetterFilter = (url: string, since: string): string => `${targetFilter(url)} since:${since}`;

/** The filter of failed runs without a dead letter that were not retried; test runs do not count. */
export const failedRunFilter = (url: string, since: string): string =>
  `${deadLetterFilter(url, since)} state:failed -repeated:true -test:true`;

export type Since = "failing" | "1h" | "24h" | "7d" | "other";

/** Choices for the start of the recovery; the start of the outage comes first. */
export function sinceChoices(endpoint: EndpointHealth): (readonly [Since, string])[] {
  const spans = [
    ["1h", "1 hour"],
    ["24h", "24 hours"],
    ["7d", "7 days"],
    ["other", "Custom"],
  ] as const;
  return endpoint.failing_from ? [["failing", "Since it started failing"], ...spans] : [...spans];
}

/** The value of `since:`; `typed` is the free input. Null while that is empty. */
export function sinceValue(endpoint: EndpointHealth, since: Since, typed: string): string | null {
  if (since === "other") return typed.replaceAll(/\s/g, "") || null;
  return since === "failing" ? endpoint.failing_from : since;
}
