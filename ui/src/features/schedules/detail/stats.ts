import type { Run } from "@/api/schema";
import { FINAL } from "@/parts/state/states";

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number | null {
  if (!values.length) return null;
  const sorted = [...values].sort((one, other) => one - other);
  const place = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
  return low + (high - low) * (place - Math.floor(place));
}

export interface Stats {
  /** Runs that finished; a cancelled run does not count. */
  judged: number;
  /** Those that succeeded in full; a partial run did not. */
  fine: number;
  ratio: number | null;
  p50: number | null;
  p95: number | null;
  lag: number | null;
  late: number;
}

export function statsOf(runs: readonly Run[]): Stats {
  const ended = runs.filter((run) => FINAL.has(run.state));
  const fine = ended.filter((run) => run.state === "success");
  const judged = ended.filter((run) => run.state !== "cancelled");
  const durations = ended
    .filter((run) => run.state === "success" || run.state === "partial")
    .map((run) => run.duration_ms)
    .filter((ms) => ms !== null);
  const lags = runs.map((run) => run.lateness_ms).filter((ms) => ms !== null);
  return {
    judged: judged.length,
    fine: fine.length,
    ratio: judged.length ? fine.length / judged.length : null,
    p50: quantile(durations, 0.5),
    p95: quantile(durations, 0.95),
    lag: quantile(lags, 0.5),
    late: lags.filter((ms) => ms > 60_000).length,
  };
}

const EDGES: readonly [string, number][] = [
  ["< 0.1 s", 100],
  ["< 1 s", 1000],
  ["< 10 s", 10_000],
  ["< 1 m", 60_000],
  ["more", Number.POSITIVE_INFINITY],
];

/** A histogram of the lag between instant and start. */
export function lagClasses(runs: readonly Run[]): { label: string; count: number }[] {
  const lags = runs.map((run) => run.lateness_ms).filter((ms) => ms !== null);
  return EDGES.map(([label, edge], index) => ({
    label,
    count: lags.filter((ms) => ms < edge && (index === 0 || ms >= (EDGES[index - 1]?.[1] ?? 0))).length,
  }));
}
