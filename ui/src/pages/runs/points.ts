/** Single runs as points of a picture: where each stands, and which is nearest to the pointer. Pure. */
import type { Points } from "@/api/calls";

/** What tells states apart for whoever cannot tell their colours apart. */
export type Shape = "dot" | "ring" | "cross" | "square" | "diamond" | "triangle" | "frame";

const SHAPES: Partial<Record<string, Shape>> = {
  success: "dot",
  partial: "diamond",
  failed: "cross",
  dead_letter: "square",
  cancelled: "ring",
  running: "triangle",
  retrying: "frame",
};

export const shapeOf = (state: string): Shape => SHAPES[state] ?? "ring";

/** The order of drawing: what is common below, trouble on top. */
export const LAYERS = ["success", "cancelled", "queued", "partial", "running", "retrying", "failed", "dead_letter"];

export interface Place {
  x: number;
  y: number;
}

/** Points by the small squares that they stand in, so that the nearest of fifty thousand is found at once. */
export class Finder {
  private readonly cells = new Map<number, number[]>();

  constructor(
    private readonly xs: Float32Array,
    private readonly ys: Float32Array,
    private readonly reach = 12,
  ) {
    for (let index = 0; index < xs.length; index += 1) {
      const cell = this.cell(xs[index] as number, ys[index] as number);
      const held = this.cells.get(cell);
      if (held) held.push(index);
      else this.cells.set(cell, [index]);
    }
  }

  /** The point that is nearest, if one is within reach. */
  nearest({ x, y }: Place): number | null {
    let [best, far]: [number | null, number] = [null, this.reach];
    for (const across of [-1, 0, 1])
      for (const down of [-1, 0, 1])
        for (const index of this.cells.get(this.cell(x + across * this.reach, y + down * this.reach)) ?? []) {
          const gap = Math.hypot((this.xs[index] as number) - x, (this.ys[index] as number) - y);
          if (gap < far) [best, far] = [index, gap];
        }
    return best;
  }

  private cell(x: number, y: number): number {
    return Math.floor(x / this.reach) * 4096 + Math.floor(y / this.reach);
  }
}

/** From the shortest to the longest, with some air; at least a decade, so that equal durations stand in the middle. */
export function heights(took: readonly number[]): [number, number] {
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

/** Round durations for the axis: the roundest, and others where those are few. */
export function rungs(low: number, high: number, most = 6): number[] {
  const within = (steps: readonly number[]): number[] => steps.filter((ms) => ms >= low && ms <= high);
  const round = within(ROUND);
  const all = round.length > 2 ? round : within([...ROUND, ...BETWEEN]).sort((one, other) => one - other);
  const every = Math.ceil(all.length / most);
  return all.filter((_, index) => index % every === 0);
}

/** The places of the points in the order of time, for whoever walks through them with keys. */
export function inTime(points: Points): number[] {
  return points.at_ms
    .map((_, index) => index)
    .sort((a, b) => (points.at_ms[a] as number) - (points.at_ms[b] as number));
}

export interface Known {
  state: string;
  shown: number;
  count: number;
}

/** Of each state that there is, how many are drawn of how many; in the order of drawing. */
export function told(points: Pick<Points, "counts" | "shown">): Known[] {
  return LAYERS.flatMap((state) => {
    const count = points.counts[state as keyof Points["counts"]] ?? 0;
    return count ? [{ state, count, shown: points.shown[state as keyof Points["shown"]] ?? 0 }] : [];
  });
}
