import type { ScaleLinear } from "d3-scale";

import type { Timeline } from "@/api/calls";
import { clock, mark, millis } from "@/time/moment";

/** How many begin in the same minute: pile-ups stand out. */
export function Collisions({
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
  const most = Math.max(...peaks.map((one) => one.count), 2);
  const worst = peaks.reduce<(typeof peaks)[number] | null>(
    (best, one) => (best === null || one.count > best.count ? one : best),
    null,
  );
  const room = x.range()[1] ?? 0;
  const high = (count: number): number => (count / most) * (height - 20);
  return (
    <g>
      <line x1={0} x2={room} y1={height - 1} y2={height - 1} stroke="var(--line)" />
      {peaks.map((one) => {
        const at = x(millis(one.at));
        return (
          <g key={one.at}>
            <title>{`${clock(one.at, zone)} ${mark(millis(one.at), zone)}: ${one.count} start at once`}</title>
            <path
              d={`M${at - 5} ${height - 1}L${at} ${height - 1 - high(one.count)}L${at + 5} ${height - 1}Z`}
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
          x={Math.min(Math.max(x(millis(worst.at)), 70), Math.max(room - 70, 70))}
          y={12}
          textAnchor="middle"
          fill="var(--muted)"
          className="text-[11px]"
        >
          {clock(worst.at, zone)} – {worst.count} start at once
        </text>
      ) : (
        <text x={4} y={20} fill="var(--muted)" className="text-xs">
          no two in any minute
        </text>
      )}
    </g>
  );
}
