import { scaleLinear, type ScaleLinear } from "d3-scale";
import { type PointerEvent, useRef, useState } from "react";

import type { Timeline, TimelineMark } from "@/api/schema";
import { runsBetween } from "@/features/runs/links";
import { cx } from "@/parts/cx";
import { lookOf } from "@/parts/state/states";
import { useNarrow, useWidth } from "@/parts/useSize";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, duration, millis, number } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { ChainLines } from "../ChainLines";
import { RowLabel } from "../RowLabel";
import { monitorOf, type ShownRow } from "../timelineRows";
import { medianDuration } from "./aggregate";
import { MarkShape, ROW } from "./MarkShape";
import { StartPeaks } from "./StartPeaks";

const [AXIS, PEAKS] = [24, 56];

type Scale = ScaleLinear<number, number>;

/** A Gantt chart of schedules, tags or queues: runs as bars, planned instants hollow, frequent ones as density. */
export function Gantt({
  timeline,
  rows,
  by,
  onZoom,
  onToggle,
}: {
  timeline: Timeline;
  rows: readonly ShownRow[];
  by: string;
  onZoom: (from: number, to: number) => void;
  onToggle: (key: string) => void;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const now = useNow(15_000);
  const go = useNavigateTo();
  const labels = useNarrow() ? 104 : 210;
  const [over, setOver] = useState<{ group: ShownRow; mark: TimelineMark; x: number; y: number } | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const begun = useRef<number | null>(null);
  const [from, to] = [millis(timeline.from), millis(timeline.to)];
  const plotWidth = Math.max(width - labels, 1);
  const x = scaleLinear([from, to], [0, plotWidth]);
  const head = PEAKS + AXIS;
  const height = rows.length * ROW;
  const grid = ticks(from, to, zone, Math.max(Math.floor(plotWidth / 90), 2));
  const place = (event: PointerEvent<Element>): number =>
    Math.min(Math.max(event.clientX - event.currentTarget.getBoundingClientRect().left, 0), plotWidth);
  const open = (group: ShownRow, mark: TimelineMark): void => {
    const monitor = monitorOf(group);
    if (monitor) go(monitor);
    else if (group.fold?.q) onToggle(group.fold.key);
    else if (group.to) go(group.to);
    else if (group.fold) go("/schedules");
    else if (mark.run_id) go(`/runs/${mark.run_id}`);
    else if (mark.state === "planned" || mark.state === "missed" || mark.state === "skipped")
      go(
        group.schedule_id
          ? `/schedules/${group.schedule_id}`
          : `/schedules?q=${encodeURIComponent(`${by}:${group.key}`)}`,
      );
    else
      go(
        runsBetween(
          group.key ? `${by}:${group.key}` : "",
          millis(mark.at) - 1000,
          Math.max(millis(mark.until ?? mark.at), millis(mark.at)) + 1000,
        ),
      );
  };
  const zooming = {
    onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
      begun.current = place(event);
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
      const at = place(event);
      if (begun.current !== null && Math.abs(at - begun.current) > 4)
        setDrag([Math.min(begun.current, at), Math.max(begun.current, at)]);
    },
    onPointerUp: () => {
      if (drag) onZoom(Math.round(x.invert(drag[0])), Math.round(x.invert(drag[1])));
      begun.current = null;
      setDrag(null);
    },
  };
  return (
    <div ref={ref} className="relative min-w-0">
      {width > 0 ? (
        <>
          <div className="sticky top-0 z-10 flex border-b bg-bg" style={{ height: head }}>
            <div className="flex shrink-0 flex-col justify-end px-2 pb-1 text-xs text-muted" style={{ width: labels }}>
              <span style={{ height: PEAKS }} className="pt-2">
                <span className="hidden md:inline">Concurrent starts</span>
              </span>
              most urgent first
            </div>
            <svg
              width={plotWidth}
              height={head}
              className="block cursor-col-resize touch-pan-y select-none"
              {...zooming}
            >
              <title>Drag to zoom in</title>
              <StartPeaks timeline={timeline} x={x} height={PEAKS} zone={zone} />
              {grid.map((tick) => (
                <text
                  key={tick.at}
                  x={x(tick.at)}
                  y={head - 8}
                  textAnchor={x(tick.at) < 24 ? "start" : x(tick.at) > plotWidth - 24 ? "end" : "middle"}
                  fill={tick.major ? "var(--ink)" : "var(--muted)"}
                  className="text-[11px]"
                >
                  {tick.label}
                </text>
              ))}
              {drag ? (
                <rect
                  x={drag[0]}
                  width={drag[1] - drag[0]}
                  y={0}
                  height={head}
                  fill="var(--accent)"
                  fillOpacity={0.15}
                />
              ) : null}
            </svg>
          </div>
          <div className="flex">
            <ul className="shrink-0" style={{ width: labels }}>
              {rows.map((group) => (
                <RowLabel key={group.key} row={group} by={by} height={ROW} onToggle={onToggle} />
              ))}
            </ul>
            <svg
              width={plotWidth}
              height={Math.max(height, ROW)}
              className="block"
              onMouseLeave={() => setOver(null)}
              role="img"
              aria-label={`${number(timeline.marks)} marks; also available as a table`}
            >
              <Grid grid={grid} x={x} rows={rows.length} plotWidth={plotWidth} />
              {rows.map((group, row) => {
                const most = Math.max(...group.marks.map((mark) => mark.count), 1);
                const takes = medianDuration(group);
                return (
                  <g key={group.key} transform={`translate(0 ${row * ROW})`}>
                    {group.marks.map((mark, index) => (
                      <g
                        key={index}
                        onMouseEnter={() => setOver({ group, mark, x: x(millis(mark.at)), y: row * ROW })}
                        onClick={() => open(group, mark)}
                        className="cursor-pointer"
                      >
                        <MarkShape mark={mark} x={x} most={most} takes={takes} />
                      </g>
                    ))}
                  </g>
                );
              })}
              <ChainLines timeline={timeline} rows={rows} x={x} height={ROW} />
              {drag ? (
                <rect
                  x={drag[0]}
                  width={drag[1] - drag[0]}
                  y={0}
                  height={height}
                  fill="var(--accent)"
                  fillOpacity={0.08}
                  className="pointer-events-none"
                />
              ) : null}
              {now > from && now < to ? (
                <line
                  x1={x(now)}
                  x2={x(now)}
                  y1={0}
                  y2={Math.max(height, ROW)}
                  stroke="var(--accent)"
                  strokeWidth={1.5}
                  className="pointer-events-none"
                />
              ) : null}
            </svg>
          </div>
          {over ? (
            <Tooltip
              over={over}
              left={Math.min(labels + over.x + 8, Math.max(width - 250, 0))}
              top={head + over.y + ROW}
              zone={zone}
              now={now}
            />
          ) : null}
        </>
      ) : (
        <div style={{ height: 200 }} />
      )}
    </div>
  );
}

function Grid({
  grid,
  x,
  rows,
  plotWidth,
}: {
  grid: ReturnType<typeof ticks>;
  x: Scale;
  rows: number;
  plotWidth: number;
}) {
  return (
    <g className="pointer-events-none">
      {grid.map((tick) => (
        <line
          key={tick.at}
          x1={x(tick.at)}
          x2={x(tick.at)}
          y1={0}
          y2={rows * ROW}
          stroke="var(--line)"
          strokeOpacity={tick.major ? 1 : 0.6}
        />
      ))}
      {Array.from({ length: rows }, (_, row) => (
        <line
          key={row}
          x1={0}
          x2={plotWidth}
          y1={(row + 1) * ROW - 0.5}
          y2={(row + 1) * ROW - 0.5}
          stroke="var(--line)"
          strokeOpacity={0.6}
        />
      ))}
    </g>
  );
}

function Tooltip({
  over,
  left,
  top,
  zone,
  now,
}: {
  over: { group: ShownRow; mark: TimelineMark };
  left: number;
  top: number;
  zone: string;
  now: number;
}) {
  const { group, mark } = over;
  const long = mark.until ? millis(mark.until) - millis(mark.at) : null;
  return (
    <div
      className={cx(
        "pointer-events-none absolute z-20 max-w-60 rounded border bg-raised px-2 py-1.5 text-xs shadow-overlay",
      )}
      style={{ left, top }}
    >
      <p className="truncate font-medium">{group.name || "Without a schedule"}</p>
      <p>
        {mark.count > 1 ? `${number(mark.count)} × ` : ""}
        {lookOf(mark.state).label}
        {long !== null && mark.count === 1 && mark.run_id ? ` · ${duration(long)}` : ""}
      </p>
      <p className="text-muted">{absolute(mark.at, zone, now, millis(mark.at) % 60_000 ? "second" : "minute")}</p>
      {mark.count > 1 && mark.until ? <p className="text-muted">to {absolute(mark.until, zone, now)}</p> : null}
    </div>
  );
}
