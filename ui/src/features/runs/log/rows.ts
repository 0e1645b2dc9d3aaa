/** The rows of a log: entries of several lines can be folded, attempts and gaps get a row between them. Pure. */
import type { LogLine } from "@/api/schema";

export type Row =
  | { kind: "line"; key: string; line: LogLine; text: string; more: number; open: boolean }
  | { kind: "rest"; key: string; line: LogLine; text: string }
  | { kind: "attempt"; key: string; attempt: number }
  | { kind: "gap"; key: string; text: string };

/** Entries with at most so many further lines are open at first; errors stay open up to a larger number. */
const SHORT = 3;
const SHORT_ERROR = 24;

/**
 * Why line numbers have gaps: links, streams and the API all use the numbers of events, so they are shown unchanged.
 */
export const NUMBERED = "Numbers count all events of the run, so starts, progress and retries leave gaps.";

export const LEVELS = ["debug", "info", "warning", "error", "critical"] as const;
export type Level = (typeof LEVELS)[number];

export const severity = (level: string): number => Math.max(LEVELS.indexOf(level as Level), 0);

export const isError = (level: string): boolean => severity(level) >= 3;

/** Whether an entry is open: by the reader's choice, otherwise by its length. */
export function isOpen(line: LogLine, further: number, chosen: ReadonlyMap<number, boolean>): boolean {
  return chosen.get(line.seq) ?? further <= (isError(line.level) ? SHORT_ERROR : SHORT);
}

interface Parts {
  text: string;
  rest: readonly string[];
}

const NONE: readonly string[] = [];
const known = new WeakMap<LogLine, Parts>();

/** Cached per line: a growing log is turned into rows repeatedly. */
function partsOf(line: LogLine): Parts {
  if (!/[\r\n]/.test(line.message)) return { text: line.message, rest: NONE };
  let parts = known.get(line);
  if (!parts) {
    const [text = "", ...rest] = line.message.split(/\r\n|\n|\r/);
    while (rest.length && rest.at(-1) === "") rest.pop();
    parts = { text, rest };
    known.set(line, parts);
  }
  return parts;
}

export function rowsOf(
  lines: readonly LogLine[],
  chosen: ReadonlyMap<number, boolean>,
  gaps: ReadonlyMap<number, string>,
): Row[] {
  const rows: Row[] = [];
  let attempt = lines[0]?.attempt ?? 1;
  if (attempt > 1) rows.push({ kind: "attempt", key: `attempt-${attempt}`, attempt });
  for (const line of lines) {
    if (line.attempt !== null && line.attempt !== attempt) {
      attempt = line.attempt;
      rows.push({ kind: "attempt", key: `attempt-${attempt}-${line.seq}`, attempt });
    }
    const { text, rest } = partsOf(line);
    const open = isOpen(line, rest.length, chosen);
    rows.push({ kind: "line", key: `l${line.seq}`, line, text, more: rest.length, open });
    if (open)
      for (const [index, part] of rest.entries())
        rows.push({ kind: "rest", key: `l${line.seq}.${index}`, line, text: part });
    const gap = gaps.get(line.seq);
    if (gap) rows.push({ kind: "gap", key: `gap-${line.seq}`, text: gap });
  }
  return rows;
}
