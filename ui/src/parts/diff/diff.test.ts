import { expect, test } from "vitest";

import { type DiffHunk, diffLines, diffWords, type Piece } from "./diff";

const joined = (pieces: readonly Piece[], left: "gone" | "came"): string =>
  pieces
    .filter((piece) => piece.fate !== left)
    .map((piece) => piece.text)
    .join("");

/** One of the two texts. A stretch that holds nothing of it is no line of it. */
const text = (all: readonly DiffHunk[], left: "gone" | "came"): string =>
  all
    .filter((one) => !one.changed || one.pieces.some((piece) => piece.fate !== left))
    .map((one) => (one.changed ? joined(one.pieces, left) : one.lines.join("\n")))
    .join("\n");

test("a word that changed is told alone, with the line around it", () => {
  expect(diffLines("Bread\nIt costs 4 crowns today.\nMilk", "Bread\nIt costs 5 crowns today.\nMilk")).toEqual([
    { changed: false, lines: ["Bread"] },
    {
      changed: true,
      pieces: [
        { fate: "same", text: "It costs " },
        { fate: "gone", text: "4" },
        { fate: "came", text: "5" },
        { fate: "same", text: " crowns today." },
      ],
    },
    { changed: false, lines: ["Milk"] },
  ]);
});

test("another sentence is another sentence, not the same with every word changed", () => {
  expect(diffWords("The mayor resigned.", "Rain is expected on Monday.")).toEqual([
    { fate: "gone", text: "The mayor resigned." },
    { fate: "came", text: "Rain is expected on Monday." },
  ]);
});

test("what was added or taken away stands where it belongs", () => {
  expect(diffLines("a\nc", "a\nb\nc").map((one) => one.changed)).toEqual([false, true, false]);
  expect(diffLines("a\nb\nc", "a\nc")[1]).toEqual({ changed: true, pieces: [{ fate: "gone", text: "b" }] });
  expect(diffLines("", "a")).toEqual([{ changed: true, pieces: [{ fate: "came", text: "a" }] }]);
  expect(diffLines("a\nb", "a\nb")).toEqual([{ changed: false, lines: ["a", "b"] }]);
});

test("both texts can be read from what is told, whatever they are", () => {
  let seed = 7;
  const chance = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
  const made = (): string =>
    Array.from({ length: chance(12) }, () => Array.from({ length: chance(5) }, () => "abc"[chance(3)]).join(" ")).join(
      "\n",
    );
  for (let round = 0; round < 500; round += 1) {
    const [before, after] = [made(), made()];
    const all = diffLines(before, after);
    const plain = (one: string): string => one.replaceAll(/\n+/g, "\n").trim();
    expect([text(all, "came"), text(all, "gone")].map(plain)).toEqual([before, after].map(plain));
  }
});

test("a book is compared in no time, or told to be another", () => {
  const book = (word: string): string => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}`).join("\n");
  const began = performance.now();
  expect(diffLines(book("a"), book("b")).length).toBe(1);
  expect(diffLines(book("a"), `${book("a")}\nmore`).length).toBe(2);
  expect(performance.now() - began).toBeLessThan(2000);
});
