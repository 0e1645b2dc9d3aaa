import type { ScaleLinear } from "d3-scale";

import type { TimelineMark } from "@/api/schema";
import { fill, lookOf } from "@/parts/state/states";
import { millis } from "@/time/moment";

export const ROW = 28;
const MIDDLE = ROW / 2;

/** One mark of a row; its shape tells the state without colour. */
export function MarkShape({
  mark,
  x,
  most,
  takes,
}: {
  mark: TimelineMark;
  x: ScaleLinear<number, number>;
  most: number;
  takes: number | null;
}) {
  const at = millis(mark.at);
  const left = x(at);
  const right = x(mark.until ? millis(mark.until) : at + (mark.state === "planned" ? (takes ?? 0) : 0));
  const wide = Math.max(right - left, 3);
  const tone = fill(lookOf(mark.state).tone);
  if (mark.count > 1) {
    // A folded mark: its height is its count.
    const high = Math.max(Math.sqrt(mark.count / most) * (ROW - 10), 4);
    const y = ROW - 4 - high;
    return mark.state === "planned" ? (
      <rect x={left + 0.5} y={y} width={Math.max(wide - 1, 2)} height={high} fill="var(--neutral)" fillOpacity={0.22} />
    ) : (
      <rect
        x={left}
        y={y}
        width={wide}
        height={high}
        rx={1}
        fill={tone}
        fillOpacity={mark.state === "skipped" ? 0.35 : 0.7}
      />
    );
  }
  if (mark.state === "planned")
    return (
      <rect
        x={left - 0.5}
        y={MIDDLE - 6}
        width={Math.max(wide, 4)}
        height={12}
        rx={2}
        fill="var(--bg)"
        stroke="var(--neutral)"
      />
    );
  if (mark.state === "missed") {
    return (
      <g>
        <circle cx={left} cy={MIDDLE} r={6} fill="var(--bg)" stroke={tone} strokeWidth={1.5} strokeDasharray="2 1.5" />
        <path d={`M${left} ${MIDDLE - 3}v3.5m0 1.5v1`} stroke={tone} strokeWidth={1.5} />
      </g>
    );
  }
  if (mark.state === "skipped") return <path d={`M${left - 2} ${ROW - 4}l4 -6`} stroke={tone} strokeWidth={1.25} />;
  const bad = mark.state === "failed" || mark.state === "dead_letter";
  return (
    <g>
      <rect x={left - 2} y={2} width={wide + 4} height={ROW - 4} fill="transparent" />
      <rect
        x={left}
        y={bad ? 4 : MIDDLE - 6}
        width={Math.max(wide, bad ? 4 : 3)}
        height={bad ? ROW - 8 : 12}
        rx={1.5}
        fill={tone}
      />
      {bad && wide >= 9 ? (
        <path d={`M${left + wide / 2 - 3} ${MIDDLE - 3}l6 6m0 -6l-6 6`} stroke="var(--bg)" strokeWidth={1.5} />
      ) : null}
    </g>
  );
}
