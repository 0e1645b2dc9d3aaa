import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { runsOfDay } from "@/features/runs/links";
import { Chart } from "@/parts/chart/Chart";
import { cx } from "@/parts/cx";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { useZone } from "@/prefs";
import { brief } from "@/time/format";
import { day as dayText, mark, number } from "@/time/moment";

import { leadingGaps, type MonthDay, monthOf } from "./aggregate";
import { levelOf } from "./heat";
import { dateOf, type Range } from "./range";

export type Shown = "runs" | "failures" | "planned";
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** A month of days: what ran, what failed, what is planned, and at which hours. */
export function MonthView({ range, shown, onShown }: { range: Range; shown: Shown; onShown: (shown: Shown) => void }) {
  const zone = useZone();
  const query = {
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
    granularity: "hour" as const,
    timezone: zone,
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["month", query],
    queryFn: ({ signal }) => ask("/api/calendar", { query, signal }),
    refetchInterval: 30_000,
    placeholderData: (before) => before,
  });
  const days = useMemo(() => monthOf(data?.items ?? []), [data]);
  const value = (day: MonthDay): number =>
    shown === "planned" ? day.planned : shown === "failures" ? day.failures : day.runs;
  const most = Math.max(...days.map(value), 1);
  const bars = days.flatMap((day) => day.hours);
  const busiest = {
    ran: Math.max(...bars.map((bar) => bar.fine + bar.failed), 1),
    planned: Math.max(...bars.map((bar) => bar.planned), 1),
  };
  const today = dateOf(Date.now(), zone);
  const empty = data && days.every((day) => day.runs + day.planned + day.missed + day.skipped === 0);
  return (
    <Chart
      title={`${shown === "planned" ? "Planned runs" : shown === "failures" ? "Failed runs" : "Runs"} per day (${mark(range.from, zone)})`}
      aside={
        <div role="group" aria-label="Shown" className="flex gap-1">
          {(["runs", "failures", "planned"] as const).map((day) => (
            <button
              key={day}
              type="button"
              aria-pressed={shown === day}
              onClick={() => onShown(day)}
              className={cx(
                "rounded px-2 py-0.5 capitalize",
                shown === day ? "bg-accent-tint text-ink" : "hover:bg-surface",
              )}
            >
              {day}
            </button>
          ))}
        </div>
      }
      head={["Day", "Runs", "Failures", "Planned", "Missed", "Skipped"]}
      rows={() =>
        days.map((day) => [
          day.date,
          number(day.runs),
          number(day.failures),
          number(day.planned),
          number(day.missed),
          number(day.skipped),
        ])
      }
    >
      {error && !data ? (
        <ErrorCard error={error} what="Could not load the calendar" onRetry={() => void refetch()} />
      ) : (
        <div className={isPlaceholderData ? "opacity-50" : undefined}>
          <div className="grid grid-cols-7 gap-1 text-xs text-muted" aria-hidden>
            {WEEK.map((name) => (
              <span key={name} className="px-1 pb-1">
                {name}
              </span>
            ))}
          </div>
          <ul className="grid grid-cols-7 gap-1">
            {Array.from({ length: leadingGaps(days) }, (_, index) => (
              <li key={`lead-${index}`} aria-hidden />
            ))}
            {data
              ? days.map((day) => (
                  <Day
                    key={day.date}
                    day={day}
                    zone={zone}
                    level={levelOf(value(day), most)}
                    shown={shown}
                    busiest={busiest}
                    today={day.date === today}
                  />
                ))
              : Array.from({ length: 35 }, (_, index) => (
                  <li key={index}>
                    <Skeleton className="h-16 w-full md:h-24" />
                  </li>
                ))}
          </ul>
          {empty ? (
            <p className="pt-3 text-center text-muted">Nothing ran and nothing is scheduled this month.</p>
          ) : null}
          {data && !data.exact ? (
            <p className="pt-2 text-xs text-muted">
              Very busy: some scheduled times are estimated or left out. All runs are counted.
            </p>
          ) : null}
        </div>
      )}
    </Chart>
  );
}

interface Busiest {
  ran: number;
  planned: number;
}

function Day({
  day,
  zone,
  level,
  shown,
  busiest,
  today,
}: {
  day: MonthDay;
  zone: string;
  level: number;
  shown: Shown;
  busiest: Busiest;
  today: boolean;
}) {
  const tone = shown === "failures" ? "failed" : "accent";
  const ran = day.runs > 0;
  const to =
    ran && shown !== "planned"
      ? runsOfDay("", day, zone, shown === "failures" && day.failures > 0)
      : `/calendar?view=day&date=${day.date}`;
  const parts = [
    `${number(day.runs)} runs`,
    day.failures ? `${number(day.failures)} failed` : "",
    day.missed ? `${number(day.missed)} missed` : "",
    day.planned ? `${number(day.planned)} planned` : "",
  ].filter(Boolean);
  const label = `${dayText(day.at, zone, Date.parse(day.at))}: ${parts.join(", ")}`;
  const wash =
    shown === "planned"
      ? undefined
      : {
          background: level ? `color-mix(in srgb, var(--${tone}) ${[0, 6, 12, 20, 30][level]}%, var(--bg))` : undefined,
        };
  return (
    <li
      className={cx(
        "relative flex h-16 min-w-0 flex-col overflow-hidden rounded border md:h-24",
        today && "border-accent ring-1 ring-accent",
        shown === "planned" && level > 0 && "hatched",
      )}
      style={wash}
    >
      <Link
        to={to}
        title={label}
        aria-label={label}
        className="absolute inset-0 rounded focus-visible:-outline-offset-2"
      />
      <span className="flex items-baseline gap-1 px-1 pt-1 max-md:flex-col max-md:gap-0 max-md:leading-none md:px-1.5">
        <Link
          to={`/calendar?view=day&date=${day.date}`}
          className={cx("relative z-1 rounded-sm text-xs hover:underline", today && "font-semibold underline")}
        >
          <span className="sr-only">Open day </span>
          {Number(day.date.slice(8))}
        </Link>
        {day.failures ? (
          <span className="pointer-events-none ml-auto text-[10px] whitespace-nowrap text-failed-ink max-md:mt-0.5 max-md:ml-0 md:text-xs">
            ✕ {brief(day.failures)}
          </span>
        ) : null}
        {day.missed ? (
          <span
            className={cx(
              "pointer-events-none hidden text-xs whitespace-nowrap text-attention-ink md:inline",
              !day.failures && "ml-auto",
            )}
          >
            ! {brief(day.missed)}
          </span>
        ) : null}
      </span>
      <span className="pointer-events-none hidden px-1.5 md:block">
        {ran ? <span className="block text-sm font-medium">{brief(day.runs)} runs</span> : null}
        {day.planned ? <span className="block text-xs">{brief(day.planned)} planned</span> : null}
      </span>
      <HourBars bars={day.hours} busiest={busiest} />
    </li>
  );
}

/** The 24 hours of the day as bars: full is past, hollow is planned. */
function HourBars({ bars, busiest }: { bars: MonthDay["hours"]; busiest: Busiest }) {
  const high = (count: number, most: number, space: number): number =>
    count ? Math.max(Math.sqrt(count / most) * space, 1.5) : 0;
  return (
    <svg
      viewBox="0 0 96 20"
      preserveAspectRatio="none"
      className="pointer-events-none mt-auto block h-4 w-full md:h-5"
      aria-hidden
    >
      {bars.map((bar) => {
        const x = bar.hour * 4;
        const ran = high(bar.fine + bar.failed, busiest.ran, 18);
        const failed = (ran * bar.failed) / Math.max(bar.fine + bar.failed, 1);
        const planned = high(bar.planned, busiest.planned, 12);
        return (
          <g key={bar.hour}>
            {planned ? (
              <rect
                x={x + 0.75}
                width={2.5}
                y={20 - planned}
                height={planned}
                fill="var(--neutral)"
                fillOpacity={0.35}
              />
            ) : null}
            {ran ? (
              <rect x={x + 0.5} width={3} y={20 - ran} height={ran} fill="var(--accent)" fillOpacity={0.8} />
            ) : null}
            {failed ? <rect x={x + 0.5} width={3} y={20 - failed} height={failed} fill="var(--failed)" /> : null}
          </g>
        );
      })}
    </svg>
  );
}
