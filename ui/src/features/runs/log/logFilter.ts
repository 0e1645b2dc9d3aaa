/** The filter of a log. The server applies it to stored lines, this module to live ones. Pure. */
import type { QueryOf } from "@/api/client";
import type { LogLine } from "@/api/schema";

import { severity } from "./rows";

export interface LogFilter {
  level: string;
  grep: string;
  /** Null is every attempt. */
  attempt: number | null;
  /** None is every line, also one of no category. */
  categories: readonly string[];
}

export const logFilterOf = (level: string, grep: string, attempt: string, categories: string): LogFilter => ({
  level,
  grep,
  attempt: /^\d+$/.test(attempt) ? Number(attempt) : null,
  categories: categories.split(",").filter(Boolean),
});

type LogQuery = QueryOf<"/api/runs/{run_id}/logs/count">;

/** The filter as query parameters. */
export const queryOf = (filter: LogFilter): LogQuery => ({
  level: filter.level === "debug" ? null : (filter.level as LogQuery["level"]),
  grep: filter.grep,
  attempt: filter.attempt,
  category: filter.categories.join(","),
});

export const isNarrowed = (filter: LogFilter): boolean =>
  Object.values(queryOf(filter)).some((category) => category !== null && category !== "");

export function matchesFilter(line: LogLine, filter: LogFilter): boolean {
  if (severity(line.level) < severity(filter.level)) return false;
  if (filter.attempt !== null && line.attempt !== filter.attempt) return false;
  if (filter.categories.length && !filter.categories.includes(line.category ?? "")) return false;
  return !filter.grep || line.message.toLowerCase().includes(filter.grep.toLowerCase());
}

/** Adds or removes one category. */
export function toggleCategory(categories: readonly string[], category: string): string {
  const rest = categories.filter((other) => other !== category);
  return (rest.length < categories.length ? rest : [...categories, category]).join(",");
}
