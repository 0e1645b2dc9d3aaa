import { expect, test } from "vitest";

import { truncatedOf } from "./truncatedResult";

test("a result that was cut is told from one that only looks like it", () => {
  const cut = { truncated: true, bytes: 52_428_800, start: '["y' };
  expect(truncatedOf(cut)).toEqual({ bytes: 52_428_800, start: '["y' });
  for (const other of [null, 5, "x", [], {}, { ...cut, bytes: 2 }, { ...cut, more: 1 }, { ...cut, truncated: false }])
    expect(truncatedOf(other)).toBeNull();
});
