import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { runsOfDay } from "@/features/runs/links";
import { Chart } from "@/parts/chart/Chart";
import { cx } from "@/parts/cx";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { useWidth } from "@/parts/useSize";
import { useNavigateTo, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { day as dayText, millis, number } from "@/time/moment";
import { addDays, startOfDay } from "@/time/zone";

import { dateOf } from "./range";
import { daysOf, type HeatDay, levelOf, monthsOf, tint, weeksOf } from "./heat";

const [LEAST, MOST] = [12, 19];
const TOP = 16;
const LEFT = 28;

/** One square a day: as far back as there is history, at most twelve months, and thirty days ahead. */
export function YearHeatmap({ id, since }: { id: string; since: string }) {
  const zone = useZone();
  const go = useNavigateTo();
  const [ref, width] = useWidth<HTMLDivElement>();
  const [metric, setMetric] = useUrl("heat", "runs");
  const today = startOfDay(Date.now(), zone);
  const query = {
    from: new Date(addDays(today, -364, zone)).toISOString(),
    to: new Date(addDays(today, 31, zone)).toISOString(),
    granularity: "day" as const,
    timezone: zone,
    schedule_id: id,
  };
  const { data, error, refetch } = useQuery({
    queryKey: ["schedules", ...queryKeys.calendar(query)],
    queryFn: ({ signal }) => ask("/api/calendar", { query, signal }),
    staleTime: 30_000,
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  });
  const days = useMemo(() => fromFirst(daysOf(data?.items ?? []), dateOf(millis(since), zone)), [data, since, zone]);
  const weeks = useMemo(() => weeksOf(days), [days]);
  const failures = metric === "failures";
  const value = (day: HeatDay): number => (failures ? day.failures : day.runs);
  const most = Math.max(...days.map(value), 1);
  const size = Math.min(Math.max(Math.floor((width - LEFT) / Math.max(weeks.length, 1)), LEAST), MOST);
  const open = (day: HeatDay): void => go(runsOfDay(`schedule:${id}`, day, zone, failures));
  if (data && !days.some((day) => day.runs + day.missed + day.skipped > 0)) return null;
  return (
    <Chart
      title={failures ? "Failures per day" : "Runs per day"}
      aside={
        <div role="group" aria-label="Shown" className="flex gap-1">
          {["runs", "failures"].map((day) => (
            <button
              key={day}
              type="button"
              aria-pressed={metric === day}
              onClick={() => setMetric(day)}
              className={cx(
                "rounded px-2 py-0.5 capitalize",
                metric === day ? "bg-accent-tint text-ink" : "hover:bg-surface",
              )}
            >
              {day}
            </button>
          ))}
        </div>
      }
      head={["Day", "Runs", "Failures", "Planned", "Missed", "Skipped"]}
      rows={() =>
        days
          .filter((day) => day.runs + day.planned + day.missed + day.skipped > 0)
          .map((day) => [day.date, day.runs, day.failures, day.planned, day.missed, day.skipped])
      }
    >
      <div ref={ref}>
        {error && !data ? (
          <ErrorCard error={error} what="Could not load the calendar" onRetry={() => void refetch()} />
        ) : !data ? (
          <Skeleton className="h-28 w-full" />
        ) : (
          <div
            ref={toEnd}
            tabIndex={0}
            className="overflow-x-auto"
            aria-label="Runs per day over the last year"
            role="group"
          >
            <svg width={LEFT + weeks.length * size} height={TOP + 7 * size} className="block">
              {monthsOf(weeks).map(({ week, label }) => (
                <text key={week} x={LEFT + week * size} y={10} fill="var(--muted)" className="text-[11px]">
                  {label}
                </text>
              ))}
              {["Mon", "", "Wed", "", "Fri", "", "Sun"].map((label, row) => (
                <text key={row} x={0} y={TOP + row * size + size / 2 + 3} fill="var(--muted)" className="text-[11px]">
                  {label}
                </text>
              ))}
              {weeks.map((week, column) =>
                week.map((day, row) =>
                  day ? (
                    <Day
                      key={day.date}
                      day={day}
                      x={LEFT + column * size}
                      y={TOP + row * size}
                      cell={size}
                      level={levelOf(value(day), most)}
                      tone={failures ? "failed" : "accent"}
                      label={labelOf(day, zone)}
                      onOpen={value(day) > 0 ? () => open(day) : undefined}
                    />
                  ) : null,
                ),
              )}
            </svg>
            <Key tone={failures ? "failed" : "accent"} />
          </div>
        )}
      </div>
    </Chart>
  );
}

/** Days before the schedule was created have nothing to show, unless something ran all the same. */
const fromFirst = (days: HeatDay[], created: string): HeatDay[] => {
  const first = days.findIndex((day) => day.date >= created || day.runs + day.missed + day.skipped > 0);
  return first > 0 ? days.slice(first) : days;
};

/** On a narrow screen the newest is seen first. */
const toEnd = (box: HTMLDivElement | null): void => {
  if (box) box.scrollLeft = box.scrollWidth;
};

const labelOf = (day: HeatDay, zone: string): string => {
  const parts = [`${number(day.runs)} ${day.runs === 1 ? "run" : "runs"}`];
  if (day.failures) parts.push(`${number(day.failures)} failed`);
  if (day.missed) parts.push(`${number(day.missed)} missed`);
  if (day.skipped) parts.push(`${number(day.skipped)} skipped`);
  if (day.planned) parts.push(`${number(day.planned)} planned`);
  return `${dayText(day.at, zone, Date.now())}: ${parts.join(", ")}`;
};

function Day({
  day,
  x,
  y,
  cell,
  level,
  tone,
  label,
  onOpen,
}: {
  day: HeatDay;
  x: number;
  y: number;
  cell: number;
  level: number;
  tone: "accent" | "failed";
  label: string;
  onOpen?: () => void;
}) {
  const size = cell - 2;
  const planned = level === 0 && day.planned > 0;
  return (
    <g
      role={onOpen ? "link" : undefined}
      aria-label={onOpen ? label : undefined}
      onClick={onOpen}
      className={onOpen ? "cursor-pointer" : undefined}
    >
      <title>{label}</title>
      <rect x={x} y={y} width={size} height={size} rx={2} fill={tint(level, tone)} />
      {planned ? (
        <>
          <rect
            x={x + 0.5}
            y={y + 0.5}
            width={size - 1}
            height={size - 1}
            rx={2}
            fill="none"
            stroke="var(--neutral)"
            strokeOpacity={0.6}
          />
          <path
            d={`M${x + 2} ${y + size - 2}L${x + size - 2} ${y + 2}M${x + 2} ${y + size / 2}L${x + size / 2} ${y + 2}M${x + size / 2} ${y + size - 2}L${x + size - 2} ${y + size / 2}`}
            stroke="var(--neutral)"
            strokeOpacity={0.5}
          />
        </>
      ) : null}
      {level === 0 && !planned && day.skipped > 0 ? (
        <path
          d={`M${x + 3} ${y + size - 3}L${x + size - 3} ${y + 3}`}
          stroke="var(--neutral)"
          strokeWidth={1.5}
          strokeDasharray="2 2"
        />
      ) : null}
      {tone === "accent" && day.failures > 0 ? (
        <circle cx={x + size - 3.5} cy={y + 3.5} r={2.5} fill="var(--failed)" stroke="var(--bg)" strokeWidth={1} />
      ) : null}
      {day.missed > 0 ? (
        <circle cx={x + 3.5} cy={y + 3.5} r={2.5} fill="var(--attention)" stroke="var(--bg)" strokeWidth={1} />
      ) : null}
    </g>
  );
}

function Key({ tone }: { tone: "accent" | "failed" }) {
  return (
    <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
      <span className="flex items-center gap-1">
        fewer
        {[0, 1, 2, 3, 4].map((level) => (
          <span key={level} className="size-2.5 rounded-sm" style={{ background: tint(level, tone) }} aria-hidden />
        ))}
        more
      </span>
      <span className="flex items-center gap-1">
        <span className="hatched size-2.5 rounded-sm border border-neutral/60" aria-hidden /> planned
      </span>
      <span className="flex items-center gap-1">
        <svg width={10} height={10} aria-hidden>
          <path d="M1 9L9 1" stroke="var(--neutral)" strokeWidth={1.5} strokeDasharray="2 2" />
        </svg>{" "}
        skipped
      </span>
      {tone === "accent" ? (
        <span className="flex items-center gap-1">
          <span className="size-2 rounded-full bg-failed" aria-hidden /> with failures
        </span>
      ) : null}
      <span className="flex items-center gap-1">
        <span className="size-2 rounded-full bg-attention" aria-hidden /> missed
      </span>
    </div>
  );
}
