import { useQueries } from "@tanstack/react-query";

import type { Page, Schedule } from "@/api/calls";
import { ask } from "@/api/client";
import { cx } from "@/parts/cx";

const VIEWS = [
  { label: "All", q: "" },
  { label: "Failing", q: "failing:true" },
  { label: "Paused", q: "status:paused" },
  { label: "Completed", q: "status:completed" },
] as const;
const COUNTED = 100;

/** Filters that people want often, with how many they find. */
export function Views({ q, onChoose }: { q: string; onChoose: (q: string) => void }) {
  const counts = useQueries({
    queries: VIEWS.map((view) => ({
      queryKey: ["schedules", "view", view.q],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask<Page<Schedule>>("/api/schedules", { query: { q: view.q, limit: COUNTED }, signal }),
      enabled: view.q !== "",
      staleTime: 5000,
      select: (page: Page<Schedule>) => (page.next_cursor ? `${COUNTED}+` : String(page.items.length)),
    })),
  });
  return (
    <div role="group" aria-label="Views" className="flex gap-1 overflow-x-auto">
      {VIEWS.map((view, index) => {
        const count = counts[index]?.data;
        const chosen = q === view.q;
        return (
          <button
            key={view.q}
            type="button"
            aria-pressed={chosen}
            onClick={() => onChoose(view.q)}
            className={cx(
              "h-8 rounded px-2.5 text-sm whitespace-nowrap",
              chosen ? "bg-accent-tint font-medium text-ink" : "text-muted hover:bg-surface hover:text-ink",
            )}
          >
            {view.label}
            {count !== undefined && count !== "0" ? (
              <span className={cx("ml-1.5 text-xs", view.label === "Failing" ? "text-failed-ink" : "text-muted")}>{count}</span>
            ) : null}
          </button>
        );
      })}
    </div>
  );
}
