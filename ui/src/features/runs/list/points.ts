/** Runs as points of a scatter chart: their positions, and the one nearest to the pointer. Pure. */
import type { RunPoints } from "@/api/schema";

/** The shape of a state, for readers who cannot distinguish its colour. */
export type Shape = "dot" | "ring" | "cross" | "square" | "diamond" | "triangle" | "frame";

const SHAPES: Partial<Record<string, Shape>> = {
  success: "dot",
  partial: "diamond",
  degraded: "diamond",
  failed: "cross",
  dead_letter: "square",
  cancelled: "ring",
  running: "triangle",
  retrying: "frame",
};

export const shapeOf = (state: string): Shape => SHAPES[state] ?? "ring";

/** The order of drawing: common states below, failures on top. */
export const LAYERS = [
  "success",
  "cancelled",
  "queued",
  "partial",
  "degraded",
  "running",
  "retrying",
  "failed",
  "dead_letter",
];

export interface Place {
  x: number;
  y: number;
}

/** Pixels within which a point's marker covers the pointer. */
const COVERED = 2;

/** A grid index of points: finds the nearest of fifty thousand without visiting all of them. */
export class PointIndex {
  private readonly cells = new Map<number, number[]>();

  constructor(
    private readonly xs: Float32Array,
    private readonly ys: Float32Array,
    private readonly reach = 12,
    private readonly layers?: Uint8Array,
  ) {
    for (let index = 0; index < xs.length; index += 1) {
      const cell = this.cell(xs[index] as number, ys[index] as number);
      const held = this.cells.get(cell);
      if (held) held.push(index);
      else this.cells.set(cell, [index]);
    }
  }

  /** The topmost of the points drawn under the pointer, else the nearest within the given distance. */
  nearest({ x, y }: Place): number | null {
    let [best, far, top]: [number | null, number, number] = [null, this.reach, -1];
    for (const across of [-1, 0, 1])
      for (const down of [-1, 0, 1])
        for (const index of this.cells.get(this.cell(x + across * this.reach, y + down * this.reach)) ?? []) {
          const gap = Math.hypot((this.xs[index] as number) - x, (this.ys[index] as number) - y);
          const layer = this.layers && gap <= COVERED ? (this.layers[index] as number) : -1;
          if (layer > top || (layer === top && gap < far)) [best, far, top] = [index, gap, layer];
        }
    return best;
  }

  private cell(x: number, y: number): number {
    return Math.floor(x / this.reach) * 4096 + Math.floor(y / this.reach);
  }
}

/** The domain of the duration axis, with a margin; at least a decade, so that equal durations are centred. */
export function durationDomain(took: readonly number[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 1];
  for (const ms of took) {
    if (ms < low) low = ms;
    if (ms > high) high = ms;
  }
  low = Math.max(Math.min(low, high), 1);
  const air = Math.max(Math.sqrt(10 / (high / low)), 1.25);
  return [low / air, high * air];
}

const ROUND = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 360_000_000];
const BETWEEN = [2, 5, 20, 50, 200, 500, 2000, 5000, 30_000, 120_000, 300_000, 1_800_000, 7_200_000, 86_400_000];

/** Ticks of the duration axis: powers of ten and whole units, with further ones where those are few. */
export function durationTicks(low: number, high: number, most = 6): number[] {
  const within = (steps: readonly number[]): number[] => steps.filter((ms) => ms >= low && ms <= high);
  const round = within(ROUND);
  const all = round.length > 2 ? round : within([...ROUND, ...BETWEEN]).sort((one, other) => one - other);
  const every = Math.ceil(all.length / most);
  return all.filter((_, index) => index % every === 0);
}

/** The indices of the points in the order of time, for keyboard navigation. */
export function indicesByTime(points: RunPoints): number[] {
  return points.at_ms
    .map((_, index) => index)
    .sort((a, b) => (points.at_ms[a] as number) - (points.at_ms[b] as number));
}

export interface LegendEntry {
  state: string;
  shown: number;
  count: number;
}

/** Per state, how many runs are drawn of how many, in the order of drawing. */
export function legendOf(points: Pick<RunPoints, "counts" | "shown">): LegendEntry[] {
  return LAYERS.flatMap((state) => {
    const count = points.counts[state as keyof RunPoints["counts"]] ?? 0;
    return count ? [{ state, count, shown: points.shown[state as keyof RunPoints["shown"]] ?? 0 }] : [];
  });
}

/** The layer each point is drawn in. */
export function layersOf(points: Pick<RunPoints, "states" | "state">): Uint8Array {
  const layers = points.states.map((state) => Math.max(LAYERS.indexOf(state), 0));
  return Uint8Array.from(points.state, (place) => layers[place] ?? 0);
}
