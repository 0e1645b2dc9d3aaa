import { scaleLinear } from "d3-scale";
import { useState } from "react";

import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, clock, mark, number } from "@/time/moment";

import { StateIcon } from "../state/StateBadge";
import { fill, lookOf, STACK } from "../state/states";
import { useWidth } from "../useSize";

export interface Bar {
  at: number;
  counts: Partial<Record<string, number>>;
  total: number;
}

const BELOW = 18;
const LEFT = 34;

/** Stacked bars of counts by state over time. A press on a bar opens what it counts. */
export function StackedBars({
  bars,
  bucketMs,
  height = 140,
  onOpen,
  onBrush,
  label,
}: {
  bars: readonly Bar[];
  bucketMs: number;
  height?: number;
  onOpen?: (from: number, to: number) => void;
  /** A span drawn with the pointer. */
  onBrush?: (from: number, to: number) => void;
  label: string;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const [over, setOver] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const top = Math.max(...bars.map((bar) => bar.total), 1);
  const y = scaleLinear([0, top], [height - BELOW, 8]).nice(3);
  const first = bars[0]?.at ?? 0;
  const to = (bars.at(-1)?.at ?? first) + bucketMs;
  const x = scaleLinear([first, to], [LEFT, Math.max(width, LEFT + 1)]);
  const step = bars.length ? (width - LEFT) / bars.length : 0;
  const shown = over === null ? null : bars[over];
  const indexAt = (clientX: number): number => {
    const left = ref.current?.getBoundingClientRect().left ?? 0;
    return Math.min(Math.max(Math.floor((clientX - left - LEFT) / step), 0), bars.length - 1);
  };
  const drop = (): void => {
    if (drag && onBrush && drag[0] !== drag[1]) {
      const [from, until] = [Math.min(...drag), Math.max(...drag)];
      onBrush(bars[from]?.at ?? first, (bars[until]?.at ?? first) + bucketMs);
    }
    setDrag(null);
  };
  if (!bars.length || bars.every((bar) => bar.total === 0)) {
    return (
      <div ref={ref} className="flex items-center justify-center text-muted" style={{ height }}>
        No data in this range
      </div>
    );
  }
  return (
    <div ref={ref} className="relative">
      {width > 0 ? (
        <svg
          role="group"
          aria-label={label}
          width={width}
          height={height}
          onPointerLeave={() => {
            setOver(null);
            setDrag(null);
          }}
          onPointerDown={(event) => onBrush && setDrag([indexAt(event.clientX), indexAt(event.clientX)])}
          onPointerMove={(event) => drag && setDrag([drag[0], indexAt(event.clientX)])}
          onPointerUp={drop}
          onPointerCancel={() => setDrag(null)}
          className="block touch-pan-y select-none"
        >
          {drag && drag[0] !== drag[1] ? (
            <rect
              x={LEFT + Math.min(...drag) * step}
              width={(Math.abs(drag[1] - drag[0]) + 1) * step}
              y={0}
              height={height - BELOW}
              fill="var(--accent-tint)"
            />
          ) : null}
          {y.ticks(height < 80 ? 1 : 3).map((value) => (
            <g key={value} className="text-[11px]">
              <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(value)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                {Number.isInteger(value) ? number(value) : ""}
              </text>
            </g>
          ))}
          {ticks(first, to, zone, Math.max(Math.floor(width / 90), 2)).map((tick) => (
            <text
              key={tick.at}
              x={x(tick.at)}
              y={height - 4}
              fill="var(--muted)"
              textAnchor={x(tick.at) > width - 20 ? "end" : "middle"}
              className="text-[11px]"
            >
              {tick.label}
            </text>
          ))}
          {bars.map((bar, index) => {
            let base = 0;
            const left = LEFT + index * step;
            const name = `${absolute(bar.at, zone, bar.at)}: ${number(bar.total)} ${bar.total === 1 ? "run" : "runs"}`;
            const open = onOpen && bar.total > 0 ? () => onOpen(bar.at, bar.at + bucketMs) : undefined;
            return (
              <g
                key={bar.at}
                role={open ? "link" : undefined}
                aria-label={open ? name : undefined}
                tabIndex={open ? 0 : undefined}
                onClick={drag && drag[0] !== drag[1] ? undefined : open}
                onKeyDown={(event) => event.key === "Enter" && open?.()}
                onMouseEnter={() => setOver(index)}
                onFocus={() => setOver(index)}
                onBlur={() => setOver(null)}
                className={open ? "cursor-pointer focus-visible:outline-offset-0" : undefined}
              >
                <rect
                  x={left}
                  y={0}
                  width={step}
                  height={height - BELOW}
                  fill={over === index ? "var(--surface)" : "transparent"}
                />
                {STACK.map((state) => {
                  const count = bar.counts[state] ?? 0;
                  if (!count) return null;
                  const from = y(base);
                  base += count;
                  return (
                    <rect
                      key={state}
                      x={left + (step > 4 ? 1 : 0)}
                      width={Math.max(step - (step > 4 ? 2 : 0), 1)}
                      y={y(base)}
                      height={Math.max(from - y(base) - (step > 4 ? 0.5 : 0), 0.75)}
                      fill={fill(lookOf(state).tone)}
                      opacity={state === "partial" || state === "queued" ? 0.65 : 1}
                    />
                  );
                })}
              </g>
            );
          })}
        </svg>
      ) : (
        <div style={{ height }} />
      )}
      {shown && over !== null ? (
        <div
          className="pointer-events-none absolute top-0 z-10 rounded border bg-raised px-2 py-1.5 text-xs shadow-overlay"
          style={{ left: Math.min(LEFT + (over + 1) * step + 4, width - 180) }}
        >
          <p className="font-medium whitespace-nowrap">
            {absolute(shown.at, zone, shown.at).replace(` ${mark(shown.at, zone)}`, "")}–
            {clock(shown.at + bucketMs, zone)} {mark(shown.at, zone)}
          </p>
          {STACK.filter((state) => shown.counts[state]).map((state) => (
            <p key={state} className="flex items-center gap-1">
              <StateIcon state={state} size={12} /> {number(shown.counts[state] ?? 0)} {lookOf(state).label}
            </p>
          ))}
          {shown.total ? null : <p className="text-muted">No runs</p>}
        </div>
      ) : null}
    </div>
  );
}

/** What the colours of a stack mean; only the states that occur. */
export function Legend({ bars }: { bars: readonly Bar[] }) {
  const present = STACK.filter((state) => bars.some((bar) => bar.counts[state]));
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1 text-xs text-muted">
      {present.map((state) => (
        <li key={state} className="flex items-center gap-1">
          <span
            aria-hidden
            className="size-2 rounded-sm"
            style={{
              background: fill(lookOf(state).tone),
              opacity: state === "partial" || state === "queued" ? 0.65 : 1,
            }}
          />
          <StateIcon state={state} size={12} />
          {lookOf(state).label}
        </li>
      ))}
    </ul>
  );
}
