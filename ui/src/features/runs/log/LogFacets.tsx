import type { LogCount } from "@/api/schema";
import { cx } from "@/parts/cx";
import { number } from "@/time/moment";

import { type LogFilter, toggleCategory } from "./logFilter";

/** Filters of a log by attempt and category, with the number of lines of each. Hidden when the log has neither. */
export function LogFacets({
  counts,
  filter,
  onAttempt,
  onCategories,
}: {
  counts?: LogCount;
  filter: LogFilter;
  onAttempt: (attempt: string) => void;
  onCategories: (categories: string) => void;
}) {
  const attempts = new Set([
    ...Object.keys(counts?.by_attempt ?? {}),
    ...(filter.attempt ? [String(filter.attempt)] : []),
  ]);
  const categories = [
    ...Object.entries(counts?.by_category ?? {}).sort(([, one], [, other]) => other - one),
    ...filter.categories
      .filter((category) => !counts?.by_category[category])
      .map((category): [string, number] => [category, 0]),
  ];
  if (attempts.size < 2 && filter.attempt === null && !categories.length) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-3 py-1.5 text-xs">
      {attempts.size > 1 || filter.attempt !== null ? (
        <label className="flex items-center gap-1.5 text-muted">
          attempt
          <select
            aria-label="Attempt"
            value={filter.attempt ?? ""}
            onChange={(event) => onAttempt(event.target.value)}
            className="h-6 rounded border bg-bg px-1 text-ink"
          >
            <option value="">All</option>
            {[...attempts]
              .sort((one, other) => Number(one) - Number(other))
              .map((one) => (
                <option key={one} value={one}>
                  {one} ({number(counts?.by_attempt[one] ?? 0)})
                </option>
              ))}
          </select>
        </label>
      ) : null}
      {categories.length ? (
        <div role="group" aria-label="Categories" className="flex flex-wrap items-center gap-1">
          {categories.map(([name, count]) => {
            const chosen = filter.categories.includes(name);
            return (
              <button
                key={name}
                type="button"
                aria-pressed={chosen}
                onClick={() => onCategories(toggleCategory(filter.categories, name))}
                className={cx(
                  "h-6 rounded-full border px-2 whitespace-nowrap",
                  chosen ? "border-accent bg-accent-tint font-medium" : "hover:bg-surface",
                )}
              >
                {name} <span className="text-muted">{number(count)}</span>
              </button>
            );
          })}
        </div>
      ) : null}
    </div>
  );
}
