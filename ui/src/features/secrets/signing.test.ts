import { expect, test } from "vitest";

import { newSigningSecret } from "./signing";

test("a signing secret is 32 random bytes as Standard Webhooks writes them", () => {
  expect(newSigningSecret((bytes) => bytes.fill(1))).toBe(`whsec_${btoa("\u0001".repeat(32))}`);
  expect(newSigningSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newSigningSecret()).not.toBe(newSigningSecret());
});
