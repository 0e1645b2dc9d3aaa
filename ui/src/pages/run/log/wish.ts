/** Which lines of a log somebody wants to see. The server says it of those it kept, this of those that arrive. Pure. */
import type { LogLine } from "@/api/calls";
import type { Query } from "@/api/client";

import { severity } from "./rows";

export interface Wish {
  level: string;
  grep: string;
  /** Null is every attempt. */
  attempt: number | null;
  /** None is every line, also one of no category. */
  categories: readonly string[];
}

export const wishOf = (level: string, grep: string, attempt: string, categories: string): Wish => ({
  level,
  grep,
  attempt: /^\d+$/.test(attempt) ? Number(attempt) : null,
  categories: categories.split(",").filter(Boolean),
});

/** As the server is asked for it. */
export const asked = (wish: Wish): Query => ({
  level: wish.level === "debug" ? null : wish.level,
  grep: wish.grep,
  attempt: wish.attempt,
  category: wish.categories.join(","),
});

export const narrows = (wish: Wish): boolean => Object.values(asked(wish)).some((one) => one !== null && one !== "");

export function wanted(line: LogLine, wish: Wish): boolean {
  if (severity(line.level) < severity(wish.level)) return false;
  if (wish.attempt !== null && line.attempt !== wish.attempt) return false;
  if (wish.categories.length && !wish.categories.includes(line.category ?? "")) return false;
  return !wish.grep || line.message.toLowerCase().includes(wish.grep.toLowerCase());
}

/** One category more, or one less. */
export function toggled(categories: readonly string[], one: string): string {
  const rest = categories.filter((other) => other !== one);
  return (rest.length < categories.length ? rest : [...categories, one]).join(",");
}
