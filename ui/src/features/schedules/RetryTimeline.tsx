import { scaleSqrt } from "d3-scale";

import type { RetrySettings } from "@/api/schema";
import { useWidth } from "@/parts/useSize";
import { duration } from "@/time/moment";

import { delaysOf } from "./policies";

const [HEIGHT, LINE, R] = [58, 18, 5];

/** The times of all attempts, if each of them fails at once, on an axis. */
export function RetryTimeline({ policy }: { policy: RetrySettings }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const delays = delaysOf(policy, 12);
  const hidden = policy.max_retries - delays.length;
  let sum = 0;
  const at = [0, ...delays.map((delay) => (sum += delay))];
  const x = scaleSqrt([0, Math.max(sum, 1)], [R + 2, Math.max(width - 70, R + 3)]);
  const end = policy.dead_letter ? "kept as a dead letter" : "failed";
  const summary = policy.max_retries
    ? `${policy.max_retries + 1} attempts, ${policy.strategy}, ${delays.map((delay) => duration(delay * 1000)).join(", ")}${hidden > 0 ? ", …" : ""} between them; then ${end}.`
    : `One attempt; if it fails it is ${end}.`;
  let before = -100;
  return (
    <div ref={ref} className="min-w-0">
      {width > 0 ? (
        <svg width={width} height={HEIGHT} role="img" aria-label={summary} className="block">
          <line x1={x(0)} x2={x(sum)} y1={LINE} y2={LINE} stroke="var(--line)" strokeWidth={2} />
          {at.map((seconds, index) => {
            const place = x(seconds);
            const fits = place - before > 46;
            if (fits) before = place;
            return (
              <g key={index}>
                <circle
                  cx={place}
                  cy={LINE}
                  r={R}
                  fill={index === 0 ? "var(--accent)" : "var(--bg)"}
                  stroke="var(--accent)"
                  strokeWidth={2}
                >
                  <title>{`attempt ${index + 1}, after ${duration(seconds * 1000)}`}</title>
                </circle>
                {fits ? (
                  <text
                    x={place}
                    y={LINE + 20}
                    textAnchor={index ? "middle" : "start"}
                    dx={index ? 0 : -R}
                    fill="var(--muted)"
                    className="text-[11px]"
                  >
                    {index ? `+${duration(seconds * 1000)}` : "first"}
                  </text>
                ) : null}
              </g>
            );
          })}
          <path
            d={`M${x(sum) + 14} ${LINE - 4}l8 8m0 -8l-8 8`}
            stroke={policy.dead_letter ? "var(--dead)" : "var(--failed)"}
            strokeWidth={2}
          />
          <text x={x(sum) + 28} y={LINE} dy="0.32em" fill="var(--muted)" className="text-[11px]">
            {policy.dead_letter ? "dead" : "failed"}
          </text>
        </svg>
      ) : (
        <div style={{ height: HEIGHT }} />
      )}
      <p className="text-xs text-muted">{summary}</p>
    </div>
  );
}
