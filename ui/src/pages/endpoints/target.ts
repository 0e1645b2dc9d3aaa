import type { Endpoint } from "@/api/calls";
import { written } from "@/words/filter";

/** What finds the runs that went to a target, and the schedules that call it. */
export const calling = (url: string): string => `target:${written(url)}`;

/** Dead letters of a target, of runs made since. */
export const letters = (url: string, since: string): string => `${calling(url)} since:${since}`;

/** Runs that failed and left no letter, and that nobody has retried; those that tried the target out were no work. */
export const unkept = (url: string, since: string): string =>
  `${letters(url, since)} state:failed -repeated:true -test:true`;

export type Since = "failing" | "1h" | "24h" | "7d" | "other";

/** From when to recover: the first is what somebody who comes after an outage means. */
export function choices(one: Endpoint): (readonly [Since, string])[] {
  const spans = [
    ["1h", "1 hour"],
    ["24h", "24 hours"],
    ["7d", "7 days"],
    ["other", "Another time"],
  ] as const;
  return one.failing_from ? [["failing", "It began to fail"], ...spans] : [...spans];
}

/** As the filter takes it; `typed` is another time. Null while there is none. */
export function moment(one: Endpoint, since: Since, typed: string): string | null {
  if (since === "other") return typed.replaceAll(/\s/g, "") || null;
  return since === "failing" ? one.failing_from : since;
}
