import { useQuery } from "@tanstack/react-query";

import { send } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Crossing } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Instant } from "@/parts/Instant";
import { useDebounced } from "@/parts/useDebounced";
import { number } from "@/time/moment";

import { shortUrl, shownFields } from "./values";

/** What a condition would have said of the changes that are stored. */
export function ConditionTrialCard({ watch, when, at }: { watch: string; when: string; at: Crossing }) {
  const asked = useDebounced(when.trim(), 500);
  const trial = useQuery({
    queryKey: queryKeys.conditionTrial(watch, asked, at),
    queryFn: () =>
      send("POST", "/api/watches/{watch_id}/try-condition", {
        params: { watch_id: watch },
        body: { when: asked, at },
      }),
    enabled: asked !== "",
    retry: false,
    placeholderData: (before) => before,
  });
  if (!asked || !trial.data?.items.length) return null;
  return (
    <Card
      title="Result on past changes"
      aside={`${number(trial.data.matched)} of the last ${number(trial.data.items.length)} changes count`}
    >
      <ul className="max-h-72 divide-y overflow-y-auto text-sm">
        {trial.data.items.map((item) => (
          <li key={item.change_id} className="flex flex-wrap items-center gap-x-3 py-1">
            <span className={item.matched ? "font-medium text-success-ink" : "text-muted"}>
              {item.matched ? "counts" : item.holds ? "still true" : "not true"}
            </span>
            <Instant at={item.at} />
            <span className="min-w-0 flex-1 truncate">
              {shownFields(item.fields).join("; ") || item.diff.split("\n")[0] || item.kind}
            </span>
            <span className="truncate text-xs text-muted">{shortUrl(item.url)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
