import { afterEach, expect, test, vi } from "vitest";

import { ask, request } from "./client";

afterEach(() => vi.unstubAllGlobals());

const json = (body: unknown) => new Response(JSON.stringify(body));

test("what was prefetched is used once, and only for the same request", async () => {
  const fetched: string[] = [];
  vi.stubGlobal("window", { foliotPrefetched: { "/api/runs?limit=50": Promise.resolve(json("early")) } });
  vi.stubGlobal("fetch", async (path: string) => {
    fetched.push(path);
    return json("late");
  });

  expect(await ask("/api/runs", { query: { limit: 10 } })).toBe("late");
  expect(await request("POST", "/api/runs", { query: { limit: 50 } })).toBe("late");
  expect(await ask("/api/runs", { query: { q: "", limit: 50, cursor: null } })).toBe("early");
  expect(await ask("/api/runs", { query: { limit: 50 } })).toBe("late");
  expect(fetched).toHaveLength(3);
});

test("a prefetched request without an answer means that the server is unreachable", async () => {
  const failed = Promise.reject(new TypeError("Failed to fetch"));
  vi.stubGlobal("window", { foliotPrefetched: { "/api/session": failed } });

  await expect(ask("/api/session")).rejects.toMatchObject({ problem: { code: "offline" } });
});
