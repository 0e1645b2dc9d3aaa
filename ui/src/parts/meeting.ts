import type { Page } from "@/api/calls";

/** What is shown, renewed by what was just read, in its old order. Pure. */
export function meet<T>(
  pages: Page<T>[],
  head: readonly T[],
  rowId: (row: T) => string,
): { pages: Page<T>[]; changed: number } {
  const read = new Map(head.map((row) => [rowId(row), row]));
  let changed = 0;
  const renewed = pages.map((page) => ({
    ...page,
    items: page.items.map((row) => {
      const now = read.get(rowId(row));
      if (!now || JSON.stringify(now) === JSON.stringify(row)) return row;
      changed += 1;
      return now;
    }),
  }));
  return { pages: changed ? renewed : pages, changed };
}
