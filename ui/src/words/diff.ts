/** What changed between two texts: first by lines, then by words within the lines that changed. */

export type Fate = "same" | "gone" | "came";

export interface Piece {
  fate: Fate;
  text: string;
}

/** Lines that stayed as they were, or what became of some that did not. */
export type Stretch = { changed: false; lines: string[] } | { changed: true; pieces: Piece[] };

/** Pairs that are compared at most: two thousand lines, or words, with as many. Beyond, all of it is another text. */
const MOST = 4_000_000;
/** Lines that share less than this part of their words are others, not the same with changes. */
const ALIKE = 0.3;

export function stretches(before: string, after: string): Stretch[] {
  const found: Stretch[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const settle = (): void => {
    if (gone.length || came.length) found.push({ changed: true, pieces: words(gone.join("\n"), came.join("\n")) });
    [gone, came] = [[], []];
  };
  for (const [fate, line] of compared(before.split("\n"), after.split("\n"))) {
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

/** The words of a text that changed, those that stayed included. */
export function words(before: string, after: string): Piece[] {
  const whole = [
    { fate: "gone" as const, text: before },
    { fate: "came" as const, text: after },
  ].filter((one) => one.text);
  const [old, now] = [tokens(before), tokens(after)];
  const pieces: Piece[] = [];
  let kept = 0;
  for (const [fate, text] of compared(old, now)) {
    if (fate === "same" && text.trim()) kept += 1;
    const last = pieces.at(-1);
    if (last?.fate === fate) last.text += text;
    else pieces.push({ fate, text });
  }
  const most = Math.max(...[old, now].map((all) => all.filter((one) => one.trim()).length));
  return kept < ALIKE * most ? whole : pieces;
}

/** Words and what stands between them. */
const tokens = (text: string): string[] => text.match(/\s+|\S+/g) ?? [];

/** Every entry of both, in order: what went stands before what came in its place. */
function compared(before: readonly string[], after: readonly string[]): [Fate, string][] {
  let [start, ends] = [0, 0];
  const least = Math.min(before.length, after.length);
  while (start < least && before[start] === after[start]) start += 1;
  while (ends < least - start && before.at(-1 - ends) === after.at(-1 - ends)) ends += 1;
  return [
    ...told("same", before.slice(0, start)),
    ...middle(before.slice(start, before.length - ends), after.slice(start, after.length - ends)),
    ...told("same", ends ? before.slice(-ends) : []),
  ];
}

const told = (fate: Fate, all: readonly string[]): [Fate, string][] => all.map((text) => [fate, text]);

/** By their longest common part. */
function middle(before: readonly string[], after: readonly string[]): [Fate, string][] {
  const [rows, columns] = [before.length, after.length];
  if (!rows || !columns || rows * columns > MOST) return [...told("gone", before), ...told("came", after)];
  const wide = columns + 1;
  // How much of what is left of both is common.
  const common = new Uint16Array((rows + 1) * wide);
  const at = (row: number, column: number): number => common[row * wide + column] as number;
  for (let row = rows - 1; row >= 0; row -= 1)
    for (let column = columns - 1; column >= 0; column -= 1)
      common[row * wide + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const found: [Fate, string][] = [];
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
  return [...found, ...told("gone", before.slice(row)), ...told("came", after.slice(column))];
}
