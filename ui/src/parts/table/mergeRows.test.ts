import { expect, test } from "vitest";

import { mergeRows } from "./mergeRows";

const row = (id: string, state: string) => ({ id, state });
const rowId = (one: { id: string }): string => one.id;

test("what is shown is renewed in place; what is new waits", () => {
  const pages = [
    { items: [row("b", "running"), row("a", "queued")], next_cursor: "x" },
    { items: [row("z", "success")], next_cursor: null },
  ];
  const met = mergeRows(pages, [row("c", "queued"), row("b", "success")], rowId);
  expect(met.pages.map((page) => page.items.map((item) => `${item.id} ${item.state}`))).toEqual([
    ["b success", "a queued"],
    ["z success"],
  ]);
  expect(met.changed).toBe(1);
});

test("nothing changed, nothing is drawn again", () => {
  const pages = [{ items: [row("a", "queued")], next_cursor: null }];
  expect(mergeRows(pages, [row("a", "queued")], rowId).pages).toBe(pages);
});
