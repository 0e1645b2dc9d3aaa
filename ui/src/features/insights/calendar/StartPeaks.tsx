import type { ScaleLinear } from "d3-scale";

import type { Timeline } from "@/api/schema";
import { clock, mark, millis } from "@/time/moment";

/** Starts per minute, so that collisions stand out. */
export function StartPeaks({
  timeline,
  x,
  height,
  zone,
}: {
  timeline: Timeline;
  x: ScaleLinear<number, number>;
  height: number;
  zone: string;
}) {
  const peaks = timeline.collisions;
  const most = Math.max(...peaks.map((peak) => peak.count), 2);
  const worst = peaks.reduce<(typeof peaks)[number] | null>(
    (best, one) => (best === null || one.count > best.count ? one : best),
    null,
  );
  const plotWidth = x.range()[1] ?? 0;
  const high = (count: number): number => (count / most) * (height - 20);
  return (
    <g>
      <line x1={0} x2={plotWidth} y1={height - 1} y2={height - 1} stroke="var(--line)" />
      {peaks.map((peak) => {
        const at = x(millis(peak.at));
        return (
          <g key={peak.at}>
            <title>{`${clock(peak.at, zone)} ${mark(millis(peak.at), zone)}: ${peak.count} start together`}</title>
            <path
              d={`M${at - 5} ${height - 1}L${at} ${height - 1 - high(peak.count)}L${at + 5} ${height - 1}Z`}
              fill="var(--accent)"
              fillOpacity={0.35}
              stroke="var(--accent)"
              strokeWidth={1}
            />
          </g>
        );
      })}
      {worst ? (
        <text
          x={Math.min(Math.max(x(millis(worst.at)), 70), Math.max(plotWidth - 70, 70))}
          y={12}
          textAnchor="middle"
          fill="var(--muted)"
          className="text-[11px]"
        >
          {clock(worst.at, zone)} – {worst.count} start together
        </text>
      ) : (
        <text x={4} y={20} fill="var(--muted)" className="text-xs">
          no overlapping starts
        </text>
      )}
    </g>
  );
}
