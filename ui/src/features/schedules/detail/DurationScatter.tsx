import { scaleLinear, scaleLog } from "d3-scale";
import { type PointerEvent, useMemo, useRef, useState } from "react";

import type { Run } from "@/api/schema";
import { fill, lookOf } from "@/parts/state/states";
import { useCoarsePointer, useWidth } from "@/parts/useSize";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, duration, millis } from "@/time/moment";

const [LEFT, BELOW, HEIGHT] = [56, 20, 190];
/** How close the pointer must be to a dot; a finger is less exact than a mouse. */
const [NEAR, NEAR_FINGER] = [12, 24];

interface Dot {
  run: Run;
  at: number;
  ms: number;
}

export const dotsOf = (runs: readonly Run[]): Dot[] =>
  runs.flatMap((run) =>
    run.started_at && run.duration_ms !== null
      ? [{ run, at: millis(run.started_at), ms: Math.max(run.duration_ms, 1) }]
      : [],
  );

/** A scatter chart of a schedule's runs by start and duration. Dragging selects a time span. */
export function DurationScatter({
  runs,
  span,
  onSpan,
}: {
  runs: readonly Run[];
  span: [number, number] | null;
  onSpan: (span: [number, number] | null) => void;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const go = useNavigateTo();
  const dots = useMemo(() => dotsOf(runs), [runs]);
  const [over, setOver] = useState<Dot | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const from = useRef<number | null>(null);
  const finger = useCoarsePointer();
  /**
   * The point under the first tap: a finger cannot hover, so the first tap shows the tooltip and the second opens the
   * run.
   */
  const toldOf = useRef<Dot | null>(null);
  if (!dots.length) {
    return (
      <div ref={ref} className="flex items-center justify-center text-muted" style={{ height: HEIGHT }}>
        No finished runs yet
      </div>
    );
  }
  const times = dots.map((dot) => dot.at);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const pad = Math.max((last - first) * 0.02, 30_000);
  const x = scaleLinear([first - pad, last + pad], [LEFT, Math.max(width - 8, LEFT + 1)]);
  const lengths = dots.map((dot) => dot.ms);
  const y = scaleLog([Math.min(...lengths) * 0.8, Math.max(...lengths) * 1.25], [HEIGHT - BELOW - 4, 8]);
  const grid = durations(Math.min(...lengths) * 0.8, Math.max(...lengths) * 1.25);
  const place = (event: PointerEvent<SVGSVGElement>): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = (px: number, py: number): Dot | null => {
    let [best, far]: [Dot | null, number] = [null, finger ? NEAR_FINGER : NEAR];
    for (const dot of dots) {
      const gap = Math.hypot(x(dot.at) - px, y(dot.ms) - py);
      if (gap < far) [best, far] = [dot, gap];
    }
    return best;
  };
  const shown = drag ?? (span ? [x(span[0]), x(span[1])] : null);
  return (
    <div ref={ref} className="relative touch-pan-y select-none">
      {width > 0 ? (
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${dots.length} runs by start and duration; the table below lists them`}
          className={over ? "block cursor-pointer" : "block cursor-crosshair"}
          onPointerDown={(event) => {
            from.current = place(event)[0];
            toldOf.current = over;
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const [px, py] = place(event);
            if (from.current !== null && Math.abs(px - from.current) > 4)
              setDrag([Math.max(Math.min(from.current, px), LEFT), Math.min(Math.max(from.current, px), width - 8)]);
            else setOver(nearest(px, py));
          }}
          onPointerUp={(event) => {
            const [px, py] = place(event);
            if (drag) onSpan([Math.round(x.invert(drag[0])), Math.round(x.invert(drag[1]))]);
            else {
              const dot = nearest(px, py);
              if (dot && (event.pointerType !== "touch" || dot === toldOf.current)) go(`/runs/${dot.run.id}`);
              else if (dot) setOver(dot);
              else {
                setOver(null);
                if (span) onSpan(null);
              }
            }
            from.current = null;
            setDrag(null);
          }}
          onPointerCancel={() => {
            from.current = null;
            setDrag(null);
          }}
          onPointerLeave={(event) => event.pointerType !== "touch" && setOver(null)}
        >
          {grid.map((ms) => (
            <g key={ms} className="text-[11px]">
              <line x1={LEFT} x2={width - 8} y1={y(ms)} y2={y(ms)} stroke="var(--line)" />
              <text x={LEFT - 8} y={y(ms)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                {duration(ms)}
              </text>
            </g>
          ))}
          {ticks(
            x.domain()[0] ?? 0,
            x.domain()[1] ?? 0,
            zone,
            Math.max(Math.floor(width / (width < 400 ? 80 : 100)), 2),
          ).map((tick) => (
            <text
              key={tick.at}
              x={x(tick.at)}
              y={HEIGHT - 4}
              textAnchor="middle"
              fill="var(--muted)"
              className="text-[11px]"
            >
              {tick.label}
            </text>
          ))}
          {shown ? (
            <rect
              x={shown[0]}
              width={Math.max((shown[1] ?? 0) - (shown[0] ?? 0), 1)}
              y={4}
              height={HEIGHT - BELOW - 4}
              fill="var(--accent)"
              fillOpacity={0.12}
              stroke="var(--accent)"
              strokeOpacity={0.5}
            />
          ) : null}
          {dots.map((dot) => (
            <Shape key={dot.run.id} state={dot.run.state} x={x(dot.at)} y={y(dot.ms)} big={over === dot} />
          ))}
        </svg>
      ) : (
        <div style={{ height: HEIGHT }} />
      )}
      {over ? (
        <div
          className="pointer-events-none absolute z-10 rounded border bg-raised px-2 py-1.5 text-xs whitespace-nowrap shadow-overlay"
          style={{
            left: Math.min(Math.max(x(over.at) - 90, 0), Math.max(width - 210, 0)),
            top: Math.max(y(over.ms) - (finger ? 74 : 58), 0),
          }}
        >
          <p className="font-medium">
            {lookOf(over.run.state).label} · {duration(over.ms)}
          </p>
          <p className="text-muted">{absolute(over.at, zone, Date.now(), "second")}</p>
          {finger ? <p className="text-muted">Tap again to open</p> : null}
        </div>
      ) : null}
    </div>
  );
}

/** The shape tells the state as well as the colour does. */
function Shape({ state, x, y, big }: { state: string; x: number; y: number; big: boolean }) {
  const colour = fill(lookOf(state).tone);
  const r = big ? 5 : 3.5;
  if (state === "failed")
    return (
      <path d={`M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} stroke={colour} strokeWidth={2} />
    );
  if (state === "dead_letter") return <rect x={x - r} y={y - r} width={2 * r} height={2 * r} fill={colour} />;
  if (state === "partial")
    return <path d={`M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`} fill={colour} />;
  if (state === "cancelled") return <circle cx={x} cy={y} r={r} fill="none" stroke={colour} strokeWidth={1.5} />;
  return <circle cx={x} cy={y} r={r} fill={colour} fillOpacity={0.75} />;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
  3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** Round durations for the axis, at most five. */
function durations(low: number, high: number): number[] {
  const within = STEPS.filter((ms) => ms >= low && ms <= high);
  const every = Math.ceil(within.length / 5);
  return within.filter((_, index) => index % every === 0);
}
