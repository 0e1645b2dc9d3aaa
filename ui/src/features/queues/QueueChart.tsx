import { useEffect, useRef } from "react";
import uPlot from "uplot";

import { useWidth } from "@/parts/useSize";
import { useTheme, useZone } from "@/prefs";
import { clock, day, duration } from "@/time/moment";

import type { Sample } from "./useQueueHistory";

import "uplot/dist/uPlot.min.css";

const HEIGHT = 150;
/** The shortest time span of the chart, in seconds. */
const SPAN = 120;

/** Depth of a queue and age of its oldest run, as sampled by this tab or by the server. */
export function QueueChart({
  samples,
  label,
  kept = false,
}: {
  samples: readonly Sample[];
  label: string;
  kept?: boolean;
}) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const zone = useZone();
  const theme = useTheme();
  useEffect(() => {
    if (!place.current || !width) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const time = (at: number): string => {
      if (!kept) return clock(at, zone, "second");
      return clock(at, zone) === "00:00" ? day(at, zone, at) : clock(at, zone);
    };
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: "11px Inter Variable, sans-serif",
    };
    plot.current = new uPlot(
      {
        width,
        height: HEIGHT,
        tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), zone),
        legend: { show: false },
        cursor: { points: { size: 6 } },
        scales: {
          // Of a single sample, uPlot would show the whole day after it.
          x: {
            range: (shown, low, high) => {
              const last = shown.data[0]?.at(-1) ?? high;
              return [Math.min(low, last - SPAN), last];
            },
          },
          y: { range: (_, __, top) => [0, Math.max(top, 1)] },
          age: { range: (_, __, top) => [0, Math.max(top, 1000)] },
        },
        axes: [
          { ...axis, space: 90, values: (_, found) => found.map((one) => time(one * 1000)) },
          { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000] },
          {
            ...axis,
            scale: "age",
            side: 1,
            size: 60,
            grid: { show: false },
            values: (_, found) => found.map((one) => duration(one)),
          },
        ],
        series: [
          {},
          { label: "waiting", stroke: colour("--accent"), width: 1.5, fill: `${colour("--accent")}22` },
          { label: "oldest", scale: "age", stroke: colour("--running"), width: 1.5, dash: [4, 3] },
        ],
      },
      [[], [], []],
      place.current,
    );
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, zone, theme, kept]);
  useEffect(() => {
    plot.current?.setData([
      samples.map((sample) => sample.at / 1000),
      samples.map((sample) => sample.depth),
      samples.map((sample) => sample.age),
    ]);
  }, [samples, width, zone, theme, kept]);
  return (
    <div ref={ref} role="img" aria-label={label}>
      <div ref={place} style={{ minHeight: HEIGHT }} />
    </div>
  );
}
