import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Timeline, TimelineFold, TimelineGrouping, TimelineRow } from "@/api/schema";
import { millis } from "@/time/moment";

/** A row of a schedule, tag or queue, or a density row of the schedules without one of their own. */
export interface ShownRow extends TimelineRow {
  fold?: { key: string; q: string | null; schedules: number; open: boolean };
  /** One of the rows of the opened density row above it. */
  nested?: boolean;
  /** A link to what an opened density row has no room for. */
  to?: string;
}

export interface TimelineQuery extends Record<string, string | number | null | undefined> {
  from?: string;
  to?: string;
  group_by: TimelineGrouping;
  q?: string;
  rows: number;
}

/** The page of the monitor that a row stands for. */
export const monitorOf = (row: TimelineRow): string | null => (row.kind === "monitor" ? `/monitors/${row.key}` : null);

/** Where a chain has a line: from the end of a run in one row to the begin of the run that follows it in another. */
export interface ChainLine {
  from: { at: number; row: number };
  to: { at: number; row: number };
}

export function chainLines(timeline: Timeline, rows: readonly ShownRow[]): ChainLine[] {
  const places = new Map(rows.map((row, index) => [row.key, index]));
  return timeline.links.flatMap((link) => {
    const [from, to] = [places.get(link.parent_key), places.get(link.child_key)];
    if (from === undefined || to === undefined) return [];
    return [{ from: { at: millis(link.ended_at), row: from }, to: { at: millis(link.began_at), row: to } }];
  });
}

const OPENED_ROWS = 20;
const DENSITY = { kind: null, schedule_id: null, summary: null, timezone: null, folded: true, urgency: null };

const foldRow = (fold: TimelineFold, open: boolean): ShownRow => ({
  ...DENSITY,
  key: `fold ${fold.key}`,
  name: fold.name,
  runs: fold.runs,
  planned: fold.planned,
  marks: fold.marks,
  fold: { key: fold.key, q: fold.q, schedules: fold.schedules, open },
});

/** The rows of an opened density row: those that are not shown above, and a link to the others. */
export function nestedRows(fold: TimelineFold, opened: Timeline, shown: ReadonlySet<string>): ShownRow[] {
  const rows: ShownRow[] = opened.groups
    .filter((row) => !shown.has(row.key))
    .map((row) => ({ ...row, key: `${fold.key} ${row.key}`, nested: true }));
  const others = opened.rest.reduce((sum, one) => sum + one.schedules, 0);
  if (others && fold.q)
    rows.push({
      ...DENSITY,
      key: `more ${fold.key}`,
      name: `${others.toLocaleString("en")} more`,
      runs: opened.rest.reduce((sum, one) => sum + one.runs, 0),
      planned: opened.rest.reduce((sum, one) => sum + one.planned, 0),
      marks: opened.rest.flatMap((one) => one.marks),
      nested: true,
      to: `/schedules?q=${encodeURIComponent(fold.q)}`,
    });
  return rows;
}

/** The rows of a timeline, most urgent first, then its density rows, each of which can be opened in place. */
export function useTimelineRows(data: Timeline | undefined, query: TimelineQuery): [ShownRow[], (key: string) => void] {
  const [open, setOpen] = useState<readonly string[]>([]);
  const folds = data?.rest ?? [];
  const opened = folds.filter((fold) => fold.q && open.includes(fold.key));
  const answers = useQueries({
    queries: opened.map((fold) => {
      const inner = { ...query, q: [query.q, fold.q].filter(Boolean).join(" "), rows: OPENED_ROWS };
      return {
        queryKey: queryKeys.timeline(inner),
        queryFn: ({ signal }: { signal: AbortSignal }) => ask("/api/timeline", { query: inner, signal }),
        placeholderData: keepPreviousData,
      };
    }),
  });
  const shown = new Set(data?.groups.map((row) => row.key));
  const rows: ShownRow[] = [...(data?.groups ?? [])];
  for (const fold of folds) {
    const at = opened.indexOf(fold);
    rows.push(foldRow(fold, at >= 0));
    const inner = at >= 0 ? answers[at]?.data : undefined;
    if (inner) rows.push(...nestedRows(fold, inner, shown));
  }
  return [rows, (key) => setOpen((now) => (now.includes(key) ? now.filter((one) => one !== key) : [...now, key]))];
}
