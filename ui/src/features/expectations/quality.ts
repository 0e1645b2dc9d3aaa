/** Series of a schedule's data quality, and expectations as the documents of actions say them. */

import type { BaselineBand, QualityRun, ScheduleQualityAnswer, SuggestedExpectation } from "@/api/schema";
import { millis } from "@/time/moment";

/** Kinds of actions whose runs have data to judge. */
export const JUDGED_KINDS: readonly string[] = ["crawl", "articles", "pipeline", "watch"];

export type Expect = Record<string, unknown>;

export interface QualityPoint {
  run: QualityRun;
  at: number;
  value: number;
}

export interface QualitySeries {
  /** `items`, `errors`, `coverage.price`, `duration`: the name of an expectation. */
  name: string;
  title: string;
  unit: string;
  points: QualityPoint[];
  band: BaselineBand | null;
}

/** What is drawn, oldest run first; a series in which no run has a value is left out. */
export function seriesOf({ items, bands }: ScheduleQualityAnswer): QualitySeries[] {
  const runs = items.filter((run) => run.facts).reverse();
  const fields = [...new Set(runs.flatMap((run) => Object.keys(run.facts?.coverage ?? {})))].sort();
  const series = (
    name: string,
    title: string,
    unit: string,
    valueOf: (run: QualityRun) => number | null | undefined,
  ): QualitySeries => ({
    name,
    title,
    unit,
    points: runs.flatMap((run) => {
      const value = valueOf(run);
      return value === null || value === undefined ? [] : [{ run, at: millis(run.at), value }];
    }),
    band: bands[name] ?? null,
  });
  return [
    series("items", "Items", "", (run) => run.facts?.items),
    series("errors", "Errors", "", (run) => run.facts?.errors),
    ...fields.map((name) => series(`coverage.${name}`, `Items with ${name}`, "%", (run) => run.facts?.coverage[name])),
    series("duration", "Duration", "s", (run) => run.facts?.seconds),
  ].filter((one) => one.points.length);
}

/** Each expectation with its bound, those of fields by `coverage.price`. */
export function expectLines(expect: Expect): [name: string, bound: string][] {
  return Object.entries(expect).flatMap(([name, value]): [string, string][] =>
    typeof value === "object" && value !== null
      ? name === "freshness"
        ? [[name, Object.values(value).map(textOf).join(" ")]]
        : Object.entries(value).map(([field, bound]): [string, string] => [`${name}.${field}`, textOf(bound)])
      : [[name, textOf(value)]],
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const split = (name: string): [kind: string, field: string] => {
  const dot = name.indexOf(".");
  return dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
};

/** With one more expectation. */
export function withExpectation(expect: Expect, { expectation, value }: SuggestedExpectation): Expect {
  const [kind, field] = split(expectation);
  return { ...expect, [kind]: field ? { ...(expect[kind] as Expect | undefined), [field]: value } : value };
}

/** Without this one; null where none is left. */
export function withoutExpectation(expect: Expect, expectation: string): Expect | null {
  const [kind, field] = split(expectation);
  const kept = { ...expect };
  const fields = { ...(kept[kind] as Expect | undefined) };
  delete fields[field];
  if (field && kind !== "freshness" && Object.keys(fields).length) kept[kind] = fields;
  else delete kept[kind];
  return Object.keys(kept).length ? kept : null;
}
