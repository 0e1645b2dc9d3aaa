import { describe, expect, it } from "vitest";

import { mergePatchOf } from "./mergePatch";

describe("a merge patch", () => {
  it("says only what differs, as deep as it goes", () => {
    const before = { url: "a", body: { sku: 1, size: { w: 1, h: 2 } }, headers: { x: "1" } };
    const after = { url: "a", body: { sku: 2, size: { w: 1, h: 2 } }, headers: { x: "1" } };
    expect(mergePatchOf(before, after)).toEqual({ body: { sku: 2 } });
  });

  it("takes away with null, and replaces lists whole", () => {
    expect(mergePatchOf({ a: 1, list: [1, 2] }, { list: [2] })).toEqual({ a: null, list: [2] });
  });

  it("is empty for the same, whatever the order of its names", () => {
    expect(mergePatchOf({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual({});
  });
});
