import { scaleLinear } from "d3-scale";

import type { Run } from "@/api/calls";
import { useWidth } from "@/parts/useSize";
import { duration, millis } from "@/time/moment";
import { useNow } from "@/time/useNow";
import { fill, FINAL, lookOf } from "@/words/states";

interface Span {
  number: number;
  from: number;
  to: number;
  state: string;
  text: string;
}

const ROW = 22;
const LEFT = 76;

/** Every try on one axis, with the waits between them. Worth its place only when there was more than one, or one still runs. */
export function Attempts({ run }: { run: Run }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const open = !FINAL.has(run.state);
  const now = useNow(open ? 1000 : 60_000);
  const spans: Span[] = run.attempts.map((one) => ({
    number: one.number,
    from: millis(one.started_at),
    to: millis(one.ended_at),
    state:
      one.outcome === "succeeded" || one.outcome === "success"
        ? "success"
        : one.outcome === "cancelled"
          ? "cancelled"
          : "failed",
    text: `${duration(one.duration_ms)}${one.error ? `  ${one.error.message}` : ""}`,
  }));
  const last = spans.at(-1);
  if (run.state === "running" && run.started_at) {
    const from = last && last.number >= run.attempt ? last.to : millis(last ? run.ready_at : run.started_at);
    if (!last || last.number < run.attempt)
      spans.push({
        number: run.attempt,
        from: Math.max(from, millis(run.started_at)),
        to: now,
        state: "running",
        text: "now",
      });
  }
  const waits = run.state === "retrying";
  if (spans.length === 0 || (spans.length === 1 && !open && !waits)) return null;
  const first = Math.min(...spans.map((one) => one.from));
  const end = Math.max(...spans.map((one) => one.to), waits ? millis(run.ready_at) : 0, first + 1);
  const x = scaleLinear([first, end], [LEFT, Math.max(width - 8, LEFT + 1)]);
  const height = (spans.length + (waits ? 1 : 0)) * ROW;
  return (
    <div ref={ref} className="min-w-0">
      {width > 0 ? (
        <svg width={width} height={height} role="img" aria-label={`${spans.length} attempts`} className="block text-xs">
          {spans.map((one, index) => {
            const y = index * ROW;
            const wide = Math.max(x(one.to) - x(one.from), 2);
            const before = spans[index - 1];
            const inside = wide > 200;
            // Beside the bar, where there is more room.
            const [ahead, behind] = [x(one.from) - LEFT - 12, width - x(one.to) - 6];
            const leftward = !inside && ahead > behind;
            const place = inside ? x(one.from) + 6 : leftward ? x(one.from) - 6 : x(one.to) + 6;
            const room = inside ? wide - 12 : Math.max(ahead, behind);
            return (
              <g key={one.number}>
                <title>{`attempt ${one.number}: ${lookOf(one.state).label}, ${one.text}`}</title>
                <text x={0} y={y + 15} fill="var(--muted)">
                  attempt {one.number}
                </text>
                {before ? (
                  <line
                    x1={x(before.to)}
                    x2={x(one.from)}
                    y1={y + 11}
                    y2={y + 11}
                    stroke="var(--neutral)"
                    strokeDasharray="2 3"
                  >
                    <title>{`waited ${duration(one.from - before.to)}`}</title>
                  </line>
                ) : null}
                <rect
                  x={x(one.from)}
                  y={y + 4}
                  width={wide}
                  height={14}
                  rx={3}
                  fill={fill(lookOf(one.state).tone)}
                  opacity={inside ? 0.25 : 0.9}
                  stroke={inside ? fill(lookOf(one.state).tone) : undefined}
                />
                <text
                  x={place}
                  y={y + 15}
                  fill="var(--ink)"
                  stroke={inside ? undefined : "var(--bg)"}
                  strokeWidth={4}
                  paintOrder="stroke"
                  textAnchor={leftward ? "end" : "start"}
                >
                  {clip(one.text, room)}
                </text>
              </g>
            );
          })}
          {waits && last ? (
            <g>
              <text x={0} y={spans.length * ROW + 15} fill="var(--muted)">
                attempt {run.attempt + 1}
              </text>
              <line
                x1={x(last.to)}
                x2={x(millis(run.ready_at))}
                y1={spans.length * ROW + 11}
                y2={spans.length * ROW + 11}
                stroke="var(--attention)"
                strokeDasharray="3 3"
              />
              <text x={x(last.to) + 6} y={spans.length * ROW + 7} fill="var(--attention-ink)" dominantBaseline="middle">
                in {duration(Math.max(Math.ceil((millis(run.ready_at) - now) / 1000), 0) * 1000)}
              </text>
            </g>
          ) : null}
        </svg>
      ) : (
        <div style={{ height }} />
      )}
    </div>
  );
}

const clip = (text: string, room: number): string => {
  const most = Math.floor(room / 6.5);
  return text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}…` : text;
};
