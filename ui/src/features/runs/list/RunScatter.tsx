import { scaleLinear, scaleLog } from "d3-scale";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";

import type { RunPoints } from "@/api/schema";
import { shortId } from "@/parts/Id";
import { StateIcon } from "@/parts/state/StateBadge";
import { lookOf } from "@/parts/state/states";
import { useCoarsePointer, useWidth } from "@/parts/useSize";
import { useTheme, useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, duration, millis, number } from "@/time/moment";

import { colourOf, drawMarker, Marker } from "./markers";
import {
  durationDomain,
  durationTicks,
  indicesByTime,
  LAYERS,
  layersOf,
  legendOf,
  type Place,
  PointIndex,
  shapeOf,
} from "./points";

const [LEFT, BELOW, RIGHT] = [52, 18, 8];
const MANY = 5000;
/** How close the pointer must be to a point; a finger is less exact than a mouse. */
const [NEAR, NEAR_FINGER] = [12, 24];

/** A scatter chart of runs by creation time and duration. A drawn span narrows the filter, a point opens its run. */
export function RunScatter({
  points,
  height,
  onOpen,
  onBrush,
}: {
  points: RunPoints;
  height: number;
  onOpen: (id: string) => void;
  onBrush: (from: number, to: number) => void;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const zone = useZone();
  const theme = useTheme();
  const [over, setOver] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const pressed = useRef<number | null>(null);
  const finger = useCoarsePointer();
  /**
   * The point under the first tap: a finger cannot hover, so the first tap shows the tooltip and the second opens the
   * run.
   */
  const toldOf = useRef<number | null>(null);
  const [from, to] = [millis(points.from), millis(points.to)];

  const picture = useMemo(() => {
    const x = scaleLinear([0, to - from], [LEFT, Math.max(width - RIGHT, LEFT + 1)]);
    const [low, high] = durationDomain(points.took_ms);
    const y = scaleLog([low, high], [height - BELOW - 4, 6]);
    const xs = Float32Array.from(points.at_ms, (at) => x(at));
    const ys = Float32Array.from(points.took_ms, (took) => y(Math.max(took, 1)));
    return {
      x,
      y,
      xs,
      ys,
      grid: durationTicks(low, high),
      finder: new PointIndex(xs, ys, finger ? NEAR_FINGER : NEAR, layersOf(points)),
    };
  }, [points, width, height, from, to, finger]);
  const order = useMemo(() => indicesByTime(points), [points]);
  useEffect(() => setOver(null), [points]);

  useEffect(() => {
    const paper = canvas.current?.getContext("2d");
    if (!paper || !width) return;
    const scale = window.devicePixelRatio || 1;
    paper.canvas.width = width * scale;
    paper.canvas.height = height * scale;
    paper.scale(scale, scale);
    const { xs, ys } = picture;
    for (const state of LAYERS) {
      const place = points.states.indexOf(state as RunPoints["states"][number]);
      // Each shape is rendered once and copied; of very many points, single pixels are all that can be distinguished.
      const speck = (points.shown[state as keyof RunPoints["shown"]] ?? 0) > MANY;
      const stamp = drawMarker(shapeOf(state), lookOf(state).tone, scale, xs.length > MANY ? 2.4 : 3.2);
      const half = stamp.width / scale / 2;
      paper.fillStyle = colourOf(lookOf(state).tone);
      paper.globalAlpha = speck ? 0.6 : 1;
      for (let index = 0; index < xs.length; index += 1) {
        if (points.state[index] !== place) continue;
        const [x, y] = [xs[index] as number, ys[index] as number];
        if (speck) paper.fillRect(x - 1, y - 1, 2, 2);
        else paper.drawImage(stamp, x - half, y - half, 2 * half, 2 * half);
      }
    }
  }, [picture, points, width, height, theme]);

  const place = (event: PointerEvent): Place => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const move = (event: PointerEvent): void => {
    const here = place(event);
    if (pressed.current !== null && (drag || Math.abs(here.x - pressed.current) > 4)) {
      setOver(null);
      setDrag([pressed.current, Math.min(Math.max(here.x, LEFT), width - RIGHT)]);
    } else setOver(picture.finder.nearest(here));
  };
  const release = (event: PointerEvent): void => {
    if (drag) {
      const [begin, end] = [Math.min(...drag), Math.max(...drag)].map((px) => from + picture.x.invert(px)) as [
        number,
        number,
      ];
      // Filters have a resolution of one second.
      onBrush(Math.floor(begin / 1000) * 1000, Math.ceil(end / 1000) * 1000);
    } else if (pressed.current !== null) {
      const found = picture.finder.nearest(place(event));
      if (found !== null && (event.pointerType !== "touch" || found === toldOf.current))
        onOpen(points.id[found] as string);
      else setOver(found);
    }
    pressed.current = null;
    setDrag(null);
  };
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      event.preventDefault();
      const here = over === null ? (by > 0 ? -1 : order.length) : order.indexOf(over);
      setOver(order[Math.min(Math.max(here + by, 0), order.length - 1)] ?? null);
    } else if (event.key === "Enter" && over !== null) onOpen(points.id[over] as string);
    else if (event.key === "Escape") setOver(null);
  };

  if (!points.id.length) {
    return (
      <div ref={ref} className="flex items-center justify-center text-muted" style={{ height }}>
        {points.not_begun ? "None of these runs has started" : "No data in this range"}
      </div>
    );
  }
  const { x, y, xs, ys, grid } = picture;
  return (
    <>
      <div
        ref={ref}
        role="application"
        aria-label={`${number(points.id.length)} runs by time and duration. Use the arrow keys to move between them and Enter to open one.`}
        tabIndex={0}
        style={{ height }}
        onKeyDown={step}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          pressed.current = Math.min(Math.max(place(event).x, LEFT), width - RIGHT);
          toldOf.current = over;
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={move}
        onPointerUp={release}
        onPointerCancel={() => {
          pressed.current = null;
          setDrag(null);
        }}
        onPointerLeave={(event) => event.pointerType !== "touch" && setOver(null)}
        onBlur={() => setOver(null)}
        className={`relative touch-pan-y select-none ${over === null ? "cursor-crosshair" : "cursor-pointer"}`}
      >
        <svg width={width} height={height} aria-hidden className="absolute inset-0 text-[11px]">
          {grid.map((ms) => (
            <g key={ms}>
              <line x1={LEFT} x2={width - RIGHT} y1={y(ms)} y2={y(ms)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(ms)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                {duration(ms)}
              </text>
            </g>
          ))}
          {ticks(from, to, zone, Math.max(Math.floor(width / 90), 2)).map((tick) => (
            <text
              key={tick.at}
              x={Math.min(x(tick.at - from), width)}
              y={height - 4}
              fill="var(--muted)"
              textAnchor={x(tick.at - from) > width - 24 ? "end" : "middle"}
            >
              {tick.label}
            </text>
          ))}
          {drag ? (
            <rect
              x={Math.min(...drag)}
              width={Math.abs(drag[1] - drag[0])}
              y={0}
              height={height - BELOW}
              fill="var(--accent-tint)"
              stroke="var(--accent)"
              strokeOpacity={0.4}
            />
          ) : null}
        </svg>
        <canvas ref={canvas} aria-hidden className="absolute inset-0" style={{ width, height }} />
        {over === null ? null : (
          <>
            <svg width={width} height={height} aria-hidden className="pointer-events-none absolute inset-0">
              <circle cx={xs[over]} cy={ys[over]} r={7} fill="none" stroke="var(--ink)" strokeWidth={1.5} />
            </svg>
            <div
              role="status"
              className="pointer-events-none absolute z-10 rounded border bg-raised px-2 py-1.5 text-xs whitespace-nowrap shadow-overlay"
              style={{
                left: Math.min(Math.max((xs[over] as number) - 90, 0), Math.max(width - 268, 0)),
                top: (ys[over] as number) > 82 ? (ys[over] as number) - (finger ? 80 : 64) : (ys[over] as number) + 12,
              }}
            >
              <p className="flex items-center gap-1 font-medium">
                <StateIcon state={stateOf(points, over)} size={12} /> {lookOf(stateOf(points, over)).label} ·{" "}
                {duration(points.took_ms[over])}
              </p>
              <p className="text-muted">
                {absolute(from + (points.at_ms[over] as number), zone, Date.now(), "second")} ·{" "}
                {shortId(points.id[over] as string)}
              </p>
              {finger ? <p className="text-muted">Tap again to open</p> : null}
            </div>
          </>
        )}
      </div>
      <Legend points={points} />
    </>
  );
}

const stateOf = (points: RunPoints, index: number): string => points.states[points.state[index] as number] as string;

/** The legend of the shapes and, where not every run is drawn, how many are. */
function Legend({ points }: { points: RunPoints }) {
  const known = legendOf(points);
  const sampled = known.some((entry) => entry.shown < entry.count);
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-3 gap-y-1 text-xs text-muted">
      {known.map((entry) => (
        <li key={entry.state} className="flex items-center gap-1">
          <Marker state={entry.state} />
          {lookOf(entry.state).label}{" "}
          {entry.shown < entry.count ? `${number(entry.shown)} of ${number(entry.count)}` : number(entry.count)}
        </li>
      ))}
      {sampled ? <li>Common states are sampled; rare states are complete.</li> : null}
      {points.not_begun ? <li>{number(points.not_begun)} not started, so not shown</li> : null}
    </ul>
  );
}
