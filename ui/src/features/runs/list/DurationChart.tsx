import { scaleLinear, scaleLog } from "d3-scale";

import type { RunSeriesBucket } from "@/api/schema";
import { useWidth } from "@/parts/useSize";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { duration, millis, short } from "@/time/moment";

const LEFT = 52;
const BELOW = 18;

/** Run durations over time, median to slowest, on a logarithmic axis: a second and an hour both matter. */
export function DurationChart({
  items,
  bucketMs,
  height,
}: {
  items: readonly RunSeriesBucket[];
  bucketMs: number;
  height: number;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const known = items.filter((item) => item.p50_ms !== null && item.p95_ms !== null);
  if (!known.length) {
    return (
      <div ref={ref} className="flex items-center justify-center text-muted" style={{ height }}>
        No data in this range
      </div>
    );
  }
  const from = millis(items[0]?.at ?? 0);
  const to = millis(items.at(-1)?.at ?? 0) + bucketMs;
  const low = Math.max(Math.min(...known.map((bucket) => bucket.p50_ms ?? 1)), 1);
  const high = Math.max(...known.map((bucket) => bucket.p95_ms ?? 1), low * 4);
  const x = scaleLinear([from, to], [LEFT, Math.max(width, LEFT + 1)]);
  const y = scaleLog([low / 1.5, high * 1.2], [height - BELOW, 6]);
  const steps = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000].filter(
    (bucket) => bucket >= low / 1.5 && bucket <= high * 1.2,
  );
  return (
    <div ref={ref}>
      {width > 0 ? (
        <svg width={width} height={height} role="img" aria-label="Run durations over time" className="block">
          {steps.map((bucket) => (
            <g key={bucket} className="text-[11px]">
              <line x1={LEFT} x2={width} y1={y(bucket)} y2={y(bucket)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(bucket)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                {duration(bucket)}
              </text>
            </g>
          ))}
          {ticks(from, to, zone, Math.max(Math.floor(width / 90), 2)).map((tick) => (
            <text
              key={tick.at}
              x={x(tick.at)}
              y={height - 4}
              fill="var(--muted)"
              textAnchor="middle"
              className="text-[11px]"
            >
              {tick.label}
            </text>
          ))}
          {known.map((bucket) => {
            const at = x(millis(bucket.at) + bucketMs / 2);
            const median = y(Math.max(bucket.p50_ms ?? 1, low / 1.5));
            const slow = y(Math.max(bucket.p95_ms ?? 1, low / 1.5));
            return (
              <g key={bucket.at}>
                <title>{`${short(bucket.at, zone, Date.now())}: median ${duration(bucket.p50_ms)}, p95 ${duration(bucket.p95_ms)}`}</title>
                <line
                  x1={at}
                  x2={at}
                  y1={median}
                  y2={slow}
                  stroke="var(--accent)"
                  strokeOpacity={0.4}
                  strokeWidth={3}
                  strokeLinecap="round"
                />
                <circle cx={at} cy={median} r={2.5} fill="var(--accent)" />
                <circle cx={at} cy={slow} r={2.5} fill="var(--bg)" stroke="var(--accent)" />
              </g>
            );
          })}
        </svg>
      ) : (
        <div style={{ height }} />
      )}
      <p className="text-xs text-muted">● median ○ p95</p>
    </div>
  );
}
