import { scaleLinear } from "d3-scale";

import type { Run } from "@/api/schema";
import { fill, FINAL, lookOf } from "@/parts/state/states";
import { useWidth } from "@/parts/useSize";
import { duration, millis } from "@/time/moment";
import { useNow } from "@/time/useNow";

interface Span {
  number: number;
  from: number;
  to: number;
  state: string;
  text: string;
}

const ROW = 22;
const LEFT = 76;

/** All attempts and the delays between them on one axis. Shown only when there is more than one, or one still runs. */
export function AttemptTimeline({ run }: { run: Run }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const open = !FINAL.has(run.state);
  const now = useNow(open ? 1000 : 60_000);
  const spans: Span[] = run.attempts.map((attempt) => ({
    number: attempt.number,
    from: millis(attempt.started_at),
    to: millis(attempt.ended_at),
    state:
      attempt.outcome === "succeeded" || attempt.outcome === "success"
        ? "success"
        : attempt.outcome === "cancelled"
          ? "cancelled"
          : "failed",
    // The card above names the run's error: here only what was different.
    text: `${duration(attempt.duration_ms)}${attempt.error && attempt.error.message !== run.error?.message ? `  ${attempt.error.message}` : ""}`,
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
  const first = Math.min(...spans.map((span) => span.from));
  const end = Math.max(...spans.map((span) => span.to), waits ? millis(run.ready_at) : 0, first + 1);
  const x = scaleLinear([first, end], [LEFT, Math.max(width - 8, LEFT + 1)]);
  const height = (spans.length + (waits ? 1 : 0)) * ROW;
  return (
    <div ref={ref} className="min-w-0">
      {width > 0 ? (
        <svg width={width} height={height} role="img" aria-label={`${spans.length} attempts`} className="block text-xs">
          {spans.map((span, index) => {
            const y = index * ROW;
            const wide = Math.max(x(span.to) - x(span.from), 2);
            const before = spans[index - 1];
            const inside = wide > 200;
            // Beside the bar, on the side with more space.
            const [ahead, behind] = [x(span.from) - LEFT - 12, width - x(span.to) - 6];
            const leftward = !inside && ahead > behind;
            const place = inside ? x(span.from) + 6 : leftward ? x(span.from) - 6 : x(span.to) + 6;
            const space = inside ? wide - 12 : Math.max(ahead, behind);
            return (
              <g key={span.number}>
                <title>{`attempt ${span.number}: ${lookOf(span.state).label}, ${span.text}`}</title>
                <text x={0} y={y + 15} fill="var(--muted)">
                  attempt {span.number}
                </text>
                {before ? (
                  <line
                    x1={x(before.to)}
                    x2={x(span.from)}
                    y1={y + 11}
                    y2={y + 11}
                    stroke="var(--neutral)"
                    strokeDasharray="2 3"
                  >
                    <title>{`waited ${duration(span.from - before.to)}`}</title>
                  </line>
                ) : null}
                <rect
                  x={x(span.from)}
                  y={y + 4}
                  width={wide}
                  height={14}
                  rx={3}
                  fill={fill(lookOf(span.state).tone)}
                  opacity={inside ? 0.25 : 0.9}
                  stroke={inside ? fill(lookOf(span.state).tone) : undefined}
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
                  {clip(span.text, space)}
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

const clip = (text: string, space: number): string => {
  const most = Math.floor(space / 6.5);
  return text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}…` : text;
};
