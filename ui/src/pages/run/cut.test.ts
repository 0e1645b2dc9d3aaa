import { expect, test } from "vitest";

import { cutOf } from "./cut";

test("a result that was cut is told from one that only looks like it", () => {
  const cut = { truncated: true, bytes: 52_428_800, start: '["y' };
  expect(cutOf(cut)).toEqual({ bytes: 52_428_800, start: '["y' });
  for (const other of [null, 5, "x", [], {}, { ...cut, bytes: 2 }, { ...cut, more: 1 }, { ...cut, truncated: false }])
    expect(cutOf(other)).toBeNull();
});
