/** A diff of two texts: by lines, then by words within the lines that changed. */

export type Change = "same" | "gone" | "came";

export interface Piece {
  fate: Change;
  text: string;
}

/** A run of unchanged lines, or the pieces of changed ones. */
export type DiffHunk = { changed: false; lines: string[] } | { changed: true; pieces: Piece[] };

/** The largest table of the comparison: two thousand lines, or words, by as many. Larger texts count as replaced. */
const MOST = 4_000_000;
/** Lines that share less than this part of their words count as replaced, not as edited. */
const ALIKE = 0.3;

export function diffLines(before: string, after: string): DiffHunk[] {
  const found: DiffHunk[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const settle = (): void => {
    if (gone.length || came.length) found.push({ changed: true, pieces: diffWords(gone.join("\n"), came.join("\n")) });
    [gone, came] = [[], []];
  };
  for (const [fate, line] of compare(before.split("\n"), after.split("\n"))) {
    if (fate === "gone") gone.push(line);
    else if (fate === "came") came.push(line);
    else {
      settle();
      const last = found.at(-1);
      if (last && !last.changed) last.lines.push(line);
      else found.push({ changed: false, lines: [line] });
    }
  }
  settle();
  return found;
}

/** The pieces of a changed text, unchanged words included. */
export function diffWords(before: string, after: string): Piece[] {
  const whole = [
    { fate: "gone" as const, text: before },
    { fate: "came" as const, text: after },
  ].filter((one) => one.text);
  const [old, now] = [tokens(before), tokens(after)];
  const pieces: Piece[] = [];
  let kept = 0;
  for (const [fate, text] of compare(old, now)) {
    if (fate === "same" && text.trim()) kept += 1;
    const last = pieces.at(-1);
    if (last?.fate === fate) last.text += text;
    else pieces.push({ fate, text });
  }
  const most = Math.max(...[old, now].map((all) => all.filter((one) => one.trim()).length));
  return kept < ALIKE * most ? whole : pieces;
}

/** Words and the blanks between them. */
const tokens = (text: string): string[] => text.match(/\s+|\S+/g) ?? [];

/** Every entry of both lists, in order; what was removed comes before what replaced it. */
function compare(before: readonly string[], after: readonly string[]): [Change, string][] {
  let [start, ends] = [0, 0];
  const least = Math.min(before.length, after.length);
  while (start < least && before[start] === after[start]) start += 1;
  while (ends < least - start && before.at(-1 - ends) === after.at(-1 - ends)) ends += 1;
  return [
    ...marked("same", before.slice(0, start)),
    ...longestCommon(before.slice(start, before.length - ends), after.slice(start, after.length - ends)),
    ...marked("same", ends ? before.slice(-ends) : []),
  ];
}

const marked = (fate: Change, all: readonly string[]): [Change, string][] => all.map((text) => [fate, text]);

/** Compares by the longest common subsequence. */
function longestCommon(before: readonly string[], after: readonly string[]): [Change, string][] {
  const [rows, columns] = [before.length, after.length];
  if (!rows || !columns || rows * columns > MOST) return [...marked("gone", before), ...marked("came", after)];
  const wide = columns + 1;
  // The length of the longest common subsequence of both remainders.
  const common = new Uint16Array((rows + 1) * wide);
  const at = (row: number, column: number): number => common[row * wide + column] as number;
  for (let row = rows - 1; row >= 0; row -= 1)
    for (let column = columns - 1; column >= 0; column -= 1)
      common[row * wide + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const found: [Change, string][] = [];
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    if (before[row] === after[column]) {
      found.push(["same", before[row] as string]);
      [row, column] = [row + 1, column + 1];
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      found.push(["gone", before[row] as string]);
      row += 1;
    } else {
      found.push(["came", after[column] as string]);
      column += 1;
    }
  }
  return [...found, ...marked("gone", before.slice(row)), ...marked("came", after.slice(column))];
}
