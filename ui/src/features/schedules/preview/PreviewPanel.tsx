import { CircleX, Info } from "lucide-react";
import { useState } from "react";

import { ProblemError } from "@/api/problem";
import type { ExcludedTimes, PreviewRequest } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { cx } from "@/parts/cx";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { number } from "@/time/moment";

import { joinsDays } from "../editor/cronFields";
import { ClockChanges } from "./ClockChanges";
import { FireTable } from "./FireTable";
import type { TriggerPreview } from "./usePreview";
import { WeekGrid } from "./WeekGrid";

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

/** The server's preview of a trigger: description, next fires, notes on clock changes. */
export function PreviewPanel({
  preview,
  restriction,
  onUtc,
}: {
  preview: TriggerPreview;
  restriction?: Pick<PreviewRequest, "exclude" | "only" | "shift">;
  onUtc: () => void;
}) {
  const [count, setCount] = useState(6);
  const { data, error } = preview;
  const refused = error instanceof ProblemError && error.status === 422;
  if (error && !refused && !data) return <ErrorCard error={error} what="No preview" />;
  const complaint = refused ? (error.problem.errors?.[0]?.message ?? error.message) : null;
  return (
    <Card title="Preview">
      {complaint ? (
        <p className="mb-4 flex gap-1.5 rounded bg-failed-tint px-3 py-2 text-failed-ink">
          <CircleX size={16} className="mt-0.5 shrink-0" aria-hidden />
          <span>
            <span className="font-medium">{sentence(complaint)}</span>
            {data ? " Below are the last valid times." : null}
          </span>
        </p>
      ) : null}
      {data ? (
        <div
          className={cx("flex flex-col gap-4 transition-opacity", (!preview.settled || Boolean(error)) && "opacity-50")}
          aria-live="polite"
        >
          <p className="text-base font-medium">{data.summary}</p>
          {data.cron_expr && joinsDays(data.cron_expr) ? (
            <p className="flex gap-1.5 rounded bg-surface px-3 py-2 text-xs">
              <Info size={14} className="mt-0.5 shrink-0 text-muted" aria-hidden />
              Cron combines day of month and day of week with “or”: it runs on both.
            </p>
          ) : null}
          {data.type === "after" ? (
            <p className="text-muted">It has no scheduled times: it runs when those runs end.</p>
          ) : null}
          <div className={data.type === "after" ? "hidden" : undefined}>
            <FireTable fires={data.next.slice(0, count)} zone={data.timezone} />
            {data.next.length > count ? (
              <Button size="small" kind="quiet" className="mt-1" onClick={() => setCount(20)}>
                Show {data.next.length}
              </Button>
            ) : null}
          </div>
          {data.excluded.length ? <ExcludedList excluded={data.excluded.slice(0, count)} /> : null}
          <ClockChanges notes={data.notes} onUtc={onUtc} />
          {data.type === "cron" ? (
            <WeekGrid
              trigger={{ type: "cron", cron_expr: data.cron_expr, timezone: data.timezone, ...restriction }}
              zone={data.timezone}
            />
          ) : null}
        </div>
      ) : refused ? (
        <p className="text-muted">The next runs appear here once the timing is valid.</p>
      ) : (
        <div className="flex flex-col gap-3">
          {[0, 1, 2, 3, 4, 5].map((row) => (
            <Skeleton key={row} className="h-4 w-full" />
          ))}
        </div>
      )}
    </Card>
  );
}

/** What calendars and times of day leave out until the last of the next runs. */
function ExcludedList({ excluded }: { excluded: readonly ExcludedTimes[] }) {
  return (
    <section aria-label="Left out">
      <p className="mb-1 text-xs font-medium text-muted">Left out</p>
      <ul className="text-xs">
        {excluded.map((one) => (
          <li key={one.first} className="flex flex-wrap gap-x-3 py-0.5">
            <span className="font-mono">
              {minute(one.first_local)}
              {one.count > 1 ? ` to ${minute(one.last_local)}` : ""}
            </span>
            <span className="text-muted">
              {one.count > 1 ? `${number(one.count)} times · ` : ""}
              {one.reason}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const minute = (local: string): string => local.slice(0, 16).replace("T", " ");
