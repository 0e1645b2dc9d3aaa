import type { ScaleLinear } from "d3-scale";

import type { Timeline } from "@/api/schema";

import { chainLines, type ShownRow } from "./timelineRows";

/** Lines of a timeline from runs to the runs that follow them. */
export function ChainLines({
  timeline,
  rows,
  x,
  top = 0,
  height,
}: {
  timeline: Timeline;
  rows: readonly ShownRow[];
  x: ScaleLinear<number, number>;
  top?: number;
  height: number;
}) {
  const lines = chainLines(timeline, rows);
  if (!lines.length) return null;
  const y = (row: number): number => top + row * height + height / 2;
  return (
    <g className="pointer-events-none" data-chains={lines.length}>
      {lines.map(({ from, to }, index) => {
        const [x1, x2] = [x(from.at), Math.max(x(to.at), x(from.at))];
        const bend = Math.max((x2 - x1) / 2, 6);
        return (
          <path
            key={index}
            d={`M${x1} ${y(from.row)} C${x1 + bend} ${y(from.row)} ${x2 - bend} ${y(to.row)} ${x2} ${y(to.row)}`}
            fill="none"
            stroke="var(--muted)"
            strokeWidth={1}
            strokeOpacity={0.7}
          />
        );
      })}
    </g>
  );
}
