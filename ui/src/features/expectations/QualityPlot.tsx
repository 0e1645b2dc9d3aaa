import { scaleLinear } from "d3-scale";

import type { BaselineBand } from "@/api/schema";
import { Chart } from "@/parts/chart/Chart";
import { fill, lookOf } from "@/parts/state/states";
import { useWidth } from "@/parts/useSize";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { ticks } from "@/time/axis";
import { absolute, number } from "@/time/moment";

import type { QualitySeries } from "./quality";

const [LEFT, BELOW, HEIGHT] = [48, 18, 120];

const usual = ({ median, low, high }: BaselineBand, shown: (value: number) => string): string =>
  `usually ${shown(median)}${low === high ? "" : ` (${shown(low)} to ${shown(high)})`}`;

/** One number of each run over time, with the range of the baseline; a point leads to its run. */
export function QualityPlot({ series }: { series: QualitySeries }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const zone = useZone();
  const go = useNavigateTo();
  const { points, band, unit } = series;
  const shown = (value: number): string => `${number(Math.round(value * 100) / 100)}${unit}`;
  const values = [...points.map((point) => point.value), ...(band ? [band.low, band.high] : []), 0];
  const times = points.map((point) => point.at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const x = scaleLinear([from, Math.max(to, from + 1)], [LEFT + 6, Math.max(width - 8, LEFT + 7)]);
  const y = scaleLinear([0, Math.max(...values, 1)], [HEIGHT - BELOW, 8]).nice(3);
  // Of a number of things, no half is marked.
  const marks = y.ticks(3).filter((value) => unit !== "" || Number.isInteger(value));
  return (
    <Chart
      title={series.title}
      aside={band ? usual(band, shown) : "no baseline yet"}
      head={["Run ended", series.title, "State"]}
      rows={() =>
        points
          .toReversed()
          .map((point): (string | number)[] => [
            absolute(point.at, zone, point.at),
            shown(point.value),
            point.run.state,
          ])
      }
    >
      <div ref={ref}>
        {width > 0 ? (
          <svg role="img" aria-label={`${series.title} of ${points.length} runs`} width={width} height={HEIGHT}>
            {band ? (
              <rect
                x={LEFT}
                width={Math.max(width - LEFT, 0)}
                y={y(band.high)}
                height={Math.max(y(band.low) - y(band.high), 2)}
                fill={fill("success")}
                opacity={0.15}
              />
            ) : null}
            {marks.map((value) => (
              <g key={value} className="text-[11px]">
                <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} stroke="var(--line)" />
                <text x={LEFT - 6} y={y(value)} dy="0.32em" textAnchor="end" fill="var(--muted)">
                  {shown(value)}
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
            <polyline
              points={points.map((point) => `${x(point.at)},${y(point.value)}`).join(" ")}
              fill="none"
              stroke="currentColor"
              opacity={0.35}
            />
            {points.map((point) => (
              <circle
                key={point.run.run_id}
                cx={x(point.at)}
                cy={y(point.value)}
                r={point.run.state === "degraded" ? 4.5 : 3}
                fill={fill(lookOf(point.run.state).tone)}
                className="cursor-pointer"
                onClick={() => go(`/runs/${point.run.run_id}`)}
              >
                <title>{`${shown(point.value)}, ${point.run.state}, ${absolute(point.at, zone, point.at)}`}</title>
              </circle>
            ))}
          </svg>
        ) : (
          <div style={{ height: HEIGHT }} />
        )}
      </div>
    </Chart>
  );
}
