import { afterEach, expect, test, vi } from "vitest";

import { lazyImport } from "./lazyImport";
import { ProblemError } from "./problem";

afterEach(() => vi.unstubAllGlobals());

const missing = new TypeError("Failed to fetch dynamically imported module");
const absent = (): Promise<never> => Promise.reject(missing);

test("what cannot be loaded while the server is away says so", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  const error: unknown = await lazyImport(absent)().catch((one: unknown) => one);
  expect(error).toBeInstanceOf(ProblemError);
  expect((error as ProblemError).offline).toBe(true);
});

test("what cannot be loaded from a server that answers is of another version", async () => {
  vi.stubGlobal("fetch", () =>
    Promise.resolve(new Response("{}", { headers: { "Content-Type": "application/json" } })),
  );
  await expect(lazyImport(absent)()).rejects.toBe(missing);
});
