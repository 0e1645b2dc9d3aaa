import { useQuery } from "@tanstack/react-query";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Timeline, TimelineGrouping, TimelineMark, TimelineRow } from "@/api/schema";
import { Chart } from "@/parts/chart/Chart";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { fill, lookOf } from "@/parts/state/states";
import { useNarrow, useWidth } from "@/parts/useSize";
import { useNavigateTo, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, clock, duration, mark as zoneMark, millis, number, short } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { ChainLines } from "../ChainLines";
import { RowLabel } from "../RowLabel";
import { monitorOf, type ShownRow, useTimelineRows } from "../timelineRows";

const ROW = 26;
const TOP = 22;
const ROWS = 10;

type Scale = ScaleLinear<number, number>;
type Hover = { x: number; y: number; lines: string[] } | null;

/** A timeline from a day ago to a day ahead: past runs, planned instants, and peaks of simultaneous starts. */
export function TimelineCard() {
  const zone = useZone();
  const now = useNow();
  const [grouping, setGrouping] = useUrl("group", "schedule");
  const query = { group_by: grouping as TimelineGrouping, rows: ROWS };
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.timeline(query),
    queryFn: ({ signal }) => ask("/api/timeline", { query, signal }),
    placeholderData: (before) => before,
    refetchInterval: 60_000,
  });
  const [groups, toggle] = useTimelineRows(data, query);
  const peak = data?.collisions
    .filter((collision) => millis(collision.at) >= now)
    .reduce((most, item) => (item.count > most.count ? item : most), { at: "", count: 0 });
  return (
    <Chart
      title={`Timeline, 24 hours back and ahead (${zoneMark(now, zone)})`}
      aside={
        <Segments
          label="Group by"
          value={grouping}
          onChange={setGrouping}
          choices={[
            ["schedule", "Schedule"],
            ["tag", "Tag"],
            ["queue", "Queue"],
          ]}
        />
      }
      head={["Name", "State", "Runs, last 24 h", "Planned, next 24 h"]}
      rows={() => groups.map((group) => [group.name, group.urgency ?? "", number(group.runs), number(group.planned)])}
    >
      {error && !data ? (
        <ErrorCard error={error} what="Could not load the timeline" onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-56 w-full" />
      ) : groups.length === 0 ? (
        <p className="py-6 text-center text-muted">
          Nothing ran in the last 24 hours and nothing is scheduled for the next 24.
        </p>
      ) : (
        <>
          <Strip data={data} groups={groups} by={grouping} zone={zone} now={now} onToggle={toggle} />
          <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
            <span>▮ ran</span>
            <span>▯ planned</span>
            <span>▨ many, by density</span>
            {data.links.length ? <span>⌒ followed by</span> : null}
            {peak && peak.count > 1 ? (
              <span>
                {short(peak.at, zone, now)} – {number(peak.count)} start together
              </span>
            ) : null}
            {data.dropped_groups ? (
              <Link to={`/calendar?view=day&by=${grouping}`} className="underline">
                {number(data.dropped_groups)} more in the calendar
              </Link>
            ) : null}
            {data.complete ? null : <span>only the newest missed and skipped times</span>}
            {data.sampled ? <span>counts of frequent states are estimates</span> : null}
          </div>
        </>
      )}
    </Chart>
  );
}

function Strip({
  data,
  groups,
  by,
  zone,
  now,
  onToggle,
}: {
  data: Timeline;
  groups: ShownRow[];
  by: string;
  zone: string;
  now: number;
  onToggle: (key: string) => void;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const narrow = useNarrow();
  const [hover, setHover] = useState<Hover>(null);
  const left = narrow ? 116 : 176;
  // The axis advances with the clock between two answers.
  const drift = now - millis(data.now);
  const x = scaleLinear([millis(data.from) + drift, millis(data.to) + drift], [left, Math.max(width, left + 1)]);
  const [from, to] = x.domain() as [number, number];
  const height = TOP + groups.length * ROW + (data.collisions.length ? ROW : 0);
  const most = Math.max(...data.collisions.map((collision) => collision.count), 1);
  return (
    <div ref={ref} className="relative" onMouseLeave={() => setHover(null)}>
      {width > 0 ? (
        <>
          <svg
            width={width}
            height={height}
            role="img"
            aria-label="Runs of the last 24 hours and planned ones of the next"
            className="block text-[11px]"
          >
            <defs>
              <pattern id="planned" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <line x1="0" y1="0" x2="0" y2="5" stroke="var(--neutral)" strokeWidth="1.5" strokeOpacity="0.6" />
              </pattern>
              <clipPath id="strip">
                <rect x={left} y={0} width={Math.max(width - left, 1)} height={height} />
              </clipPath>
            </defs>
            <rect
              x={x(now)}
              y={TOP - 4}
              width={Math.max(width - x(now), 0)}
              height={height - TOP + 4}
              fill="var(--surface)"
            />
            {ticks(from, to, zone, Math.max(Math.floor((width - left) / 70), 2)).map((tick) => (
              <g key={tick.at}>
                <line
                  x1={x(tick.at)}
                  x2={x(tick.at)}
                  y1={TOP - 4}
                  y2={height}
                  stroke="var(--line)"
                  strokeWidth={tick.major ? 1.5 : 1}
                />
                {Math.abs(x(tick.at) - x(now)) > (tick.major ? 68 : 48) && x(tick.at) < width - 24 ? (
                  <text x={x(tick.at)} y={11} textAnchor="middle" fill="var(--muted)">
                    {tick.label}
                  </text>
                ) : null}
              </g>
            ))}
            <g clipPath="url(#strip)">
              {groups.map((group, index) => (
                <Marks
                  key={group.key}
                  group={group}
                  y={TOP + index * ROW}
                  x={x}
                  now={now}
                  zone={zone}
                  onHover={setHover}
                />
              ))}
              <ChainLines timeline={data} rows={groups} x={x} top={TOP} height={ROW} />
              {data.collisions.map((collision) => (
                <rect
                  key={collision.at}
                  x={x(millis(collision.at))}
                  width={Math.max(x(millis(collision.at) + 900_000) - x(millis(collision.at)) - 0.5, 1.5)}
                  y={height - 2 - (collision.count / most) * (ROW - 8)}
                  height={(collision.count / most) * (ROW - 8)}
                  fill="var(--accent)"
                  opacity={0.7}
                  onMouseEnter={() =>
                    setHover({
                      x: x(millis(collision.at)),
                      y: height - ROW,
                      lines: [short(collision.at, zone, now), `${number(collision.count)} start together`],
                    })
                  }
                />
              ))}
            </g>
            <line x1={x(now)} x2={x(now)} y1={TOP - 6} y2={height} stroke="var(--accent)" strokeWidth={1.5} />
            <text x={x(now)} y={11} textAnchor="middle" fill="var(--accent)" className="font-semibold">
              now {clock(now, zone)}
            </text>
          </svg>
          <ul className="absolute left-0 top-0" style={{ width: left - 8, paddingTop: TOP }}>
            {groups.map((group) => (
              <RowLabel key={group.key} row={group} by={by} height={ROW} onToggle={onToggle} />
            ))}
            {data.collisions.length ? (
              <li className="flex items-center pl-1 text-muted" style={{ height: ROW }}>
                starts together
              </li>
            ) : null}
          </ul>
        </>
      ) : (
        <div style={{ height }} />
      )}
      {hover ? (
        <div
          className="pointer-events-none absolute z-10 rounded border bg-raised px-2 py-1 text-xs whitespace-nowrap shadow-overlay"
          style={{ left: Math.min(hover.x + 8, width - 200), top: hover.y + ROW }}
        >
          {hover.lines.map((line, index) => (
            <p key={index} className={index ? "text-muted" : "font-medium"}>
              {line}
            </p>
          ))}
        </div>
      ) : null}
    </div>
  );
}

function Marks({
  group,
  y,
  x,
  now,
  zone,
  onHover,
}: {
  group: ShownRow;
  y: number;
  x: Scale;
  now: number;
  zone: string;
  onHover: (hover: Hover) => void;
}) {
  const go = useNavigateTo();
  const densest = Math.max(...group.marks.map((mark) => mark.count), 1);
  return (
    <g>
      <line
        x1={x.range()[0]}
        x2={x.range()[1]}
        y1={y + ROW - 0.5}
        y2={y + ROW - 0.5}
        stroke="var(--line)"
        strokeOpacity={0.6}
      />
      {group.marks.map((item, index) => {
        const to = addressOf(group, item);
        return (
          <Mark
            key={`${item.at}${item.state}${index}`}
            mark={item}
            y={y}
            x={x}
            now={now}
            density={item.count / densest}
            onOpen={to ? () => go(to) : undefined}
            onHover={() => onHover({ x: x(millis(item.at)), y, lines: tooltipOf(group, item, zone, now) })}
          />
        );
      })}
    </g>
  );
}

function Mark({
  mark,
  y,
  x,
  now,
  density,
  onOpen,
  onHover,
}: {
  mark: TimelineMark;
  y: number;
  x: Scale;
  now: number;
  density: number;
  onOpen?: () => void;
  onHover: () => void;
}) {
  const at = x(millis(mark.at));
  const end = x(mark.until ? millis(mark.until) : mark.state === "running" ? now : millis(mark.at));
  const common = { onMouseEnter: onHover, onClick: onOpen, className: onOpen ? "cursor-pointer" : undefined };
  if (mark.state === "planned") {
    return mark.count > 1 ? (
      <rect
        {...common}
        x={at}
        width={Math.max(end - at - 0.5, 2)}
        y={y + 7}
        height={12}
        fill="url(#planned)"
        opacity={0.35 + 0.65 * density}
      />
    ) : (
      <rect
        {...common}
        x={at - 1.5}
        width={3}
        y={y + 5}
        height={16}
        rx={1.5}
        fill="var(--bg)"
        stroke="var(--neutral)"
      />
    );
  }
  if (mark.state === "missed" || mark.state === "skipped") {
    const colour = mark.state === "missed" ? "var(--attention)" : "var(--neutral)";
    return (
      <rect
        {...common}
        x={at - 3}
        width={Math.max(end - at, 6)}
        y={y + 7}
        height={12}
        rx={2}
        fill="var(--bg)"
        stroke={colour}
        strokeWidth={1.5}
        strokeDasharray="2 2"
      />
    );
  }
  // Failures are taller than successes, so that the shape tells them apart without colour.
  const bad = mark.state === "failed" || mark.state === "dead_letter";
  const { tone } = lookOf(mark.state);
  return (
    <rect
      {...common}
      x={at}
      width={Math.max(end - at - (mark.count > 1 ? 0.5 : 0), 3)}
      y={y + (bad ? 3 : 8)}
      height={bad ? 20 : 10}
      rx={1.5}
      fill={fill(tone)}
      opacity={mark.count > 1 && !bad ? 0.35 + 0.5 * density : 1}
    />
  );
}

function addressOf(group: ShownRow, item: TimelineMark): string | null {
  const monitor = monitorOf(group);
  if (monitor) return monitor;
  if (item.run_id) return `/runs/${item.run_id}`;
  if (item.state === "planned" || item.state === "missed" || item.state === "skipped")
    return group.schedule_id ? `/schedules/${group.schedule_id}` : null;
  const scope = group.schedule_id ? `schedule:${group.schedule_id} ` : group.fold?.q ? `${group.fold.q} ` : "";
  return `/runs?q=${encodeURIComponent(`${scope}state:${item.state} since:${item.at}${item.until ? ` until:${item.until}` : ""}`)}`;
}

function tooltipOf(group: TimelineRow, item: TimelineMark, zone: string, now: number): string[] {
  const what = item.count > 1 ? `${number(item.count)} × ${lookOf(item.state).label}` : lookOf(item.state).label;
  const span = item.until && item.count === 1 ? ` · ${duration(millis(item.until) - millis(item.at))}` : "";
  const until = item.until && item.count > 1 ? `–${clock(item.until, zone)}` : "";
  return [`${group.name || "manual"}: ${what}`, `${absolute(item.at, zone, now)}${until}${span}`];
}
