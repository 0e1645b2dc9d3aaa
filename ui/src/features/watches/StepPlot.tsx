import { scaleLinear } from "d3-scale";

import { useWidth } from "@/parts/useSize";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, number } from "@/time/moment";

import type { Line } from "./values";

const BELOW = 18;
const LEFT = 56;
const HEIGHT = 200;
/** Lines differ in colour and in dashes. */
const LOOKS = ["accent", "success", "failed", "attention", "dead", "running", "neutral", "ink"].map((tone, index) => ({
  stroke: `var(--${tone})`,
  dash: ["", "6 3", "2 3", "8 3 2 3"][index % 4] ?? "",
}));
const lookOf = (index: number) => LOOKS[index % LOOKS.length] ?? LOOKS[0]!;

/** Values that stand until the next one: a step for each version; missing values are gaps. */
export function StepPlot({ lines, label, unit }: { lines: readonly Line[]; label: string; unit: string | null }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const points = lines.flatMap((line) => line.points);
  const values = points.flatMap((point) => (point.value === null ? [] : [point.value]));
  if (!values.length)
    return (
      <div ref={ref} className="py-8 text-center text-sm text-muted">
        No values yet
      </div>
    );
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [from, to] = [Math.min(...points.map((point) => point.at)), Math.max(...points.map((point) => point.at))];
  const margin = (most - least || Math.abs(most) || 1) * 0.1;
  // No scale below zero for values that are not.
  const low = least >= 0 ? Math.max(least - margin, 0) : least - margin;
  const y = scaleLinear([low, most + margin], [HEIGHT - BELOW, 8]).nice(4);
  const x = scaleLinear([from, Math.max(to, from + 1)], [LEFT, Math.max(width - 8, LEFT + 1)]);
  return (
    <div ref={ref} className="flex flex-col gap-2">
      {width > 0 ? (
        <svg role="img" aria-label={label} width={width} height={HEIGHT} className="block">
          {y.ticks(4).map((value) => (
            <g key={value} className="text-[11px]">
              <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(value)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                {number(value)}
              </text>
            </g>
          ))}
          {ticks(from, to, zone, Math.max(Math.floor(width / 110), 2)).map((tick) => (
            <text
              key={tick.at}
              x={x(tick.at)}
              y={HEIGHT - 4}
              fill="var(--muted)"
              textAnchor={x(tick.at) > width - 24 ? "end" : "middle"}
              className="text-[11px]"
            >
              {tick.label}
            </text>
          ))}
          {lines.map((line, index) => (
            <g key={line.label}>
              <path
                d={stepPath(line, x, y)}
                fill="none"
                stroke={lookOf(index).stroke}
                strokeDasharray={lookOf(index).dash}
                strokeWidth="1.5"
              />
              {line.points.map((point) =>
                point.value === null ? null : (
                  <circle key={point.at} cx={x(point.at)} cy={y(point.value)} r={2.5} fill={lookOf(index).stroke}>
                    <title>{`${line.label}: ${number(point.value)} ${unit ?? ""} from ${absolute(point.at, zone, point.at)}`}</title>
                  </circle>
                ),
              )}
            </g>
          ))}
        </svg>
      ) : null}
      {lines.length > 1 ? (
        <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
          {lines.map((line, index) => (
            <li key={line.label} className="flex min-w-0 items-center gap-1.5">
              <svg width="22" height="6" aria-hidden>
                <line
                  x2="22"
                  y1="3"
                  y2="3"
                  stroke={lookOf(index).stroke}
                  strokeDasharray={lookOf(index).dash}
                  strokeWidth="2"
                />
              </svg>
              <span className="truncate">{line.label}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

function stepPath(line: Line, x: (at: number) => number, y: (value: number) => number): string {
  const parts: string[] = [];
  let open = false;
  for (const { at, value } of line.points) {
    const place = x(at).toFixed(1);
    if (open) parts.push(`H${place}`);
    if (value !== null) parts.push(open ? `V${y(value).toFixed(1)}` : `M${place} ${y(value).toFixed(1)}`);
    open = value !== null;
  }
  return parts.join("");
}
