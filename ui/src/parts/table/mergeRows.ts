import type { CursorPage } from "@/api/client";

/** Updates the rows that are shown by newly read ones, in their old order. Pure. */
export function mergeRows<T>(
  pages: CursorPage<T>[],
  head: readonly T[],
  rowId: (row: T) => string,
): { pages: CursorPage<T>[]; changed: number } {
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
