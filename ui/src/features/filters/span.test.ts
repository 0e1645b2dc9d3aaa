import { expect, test } from "vitest";

import { momentOf, narrowTo, spanOf } from "./span";

const NOW = Date.parse("2026-11-16T12:00:00Z");

test("a span back from now, or between two moments", () => {
  expect(momentOf("24h", NOW)).toBe(NOW - 86_400_000);
  expect(momentOf("nonsense", NOW)).toBeNull();
  expect(spanOf("state:failed", NOW)).toEqual({ from: NOW - 86_400_000, to: NOW });
  expect(spanOf("since:7d until:24h", NOW)).toEqual({ from: NOW - 7 * 86_400_000, to: NOW - 86_400_000 });
  expect(spanOf("since:1h until:24h", NOW).to).toBe(NOW - 86_400_000);
});

test("what was drawn becomes part of the filter", () => {
  expect(narrowTo("state:failed since:24h", NOW - 3_600_000, NOW)).toBe(
    "state:failed since:2026-11-16T11:00:00Z until:2026-11-16T12:00:00Z",
  );
});
