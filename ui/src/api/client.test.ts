import { afterEach, beforeEach, expect, expectTypeOf, test, vi } from "vitest";

import { ask, dryRun, pathOf, send } from "./client";
import type { BulkAction, BulkDryRun, Run, RunPage } from "./schema";

const sent: { method?: string; path: string; body: unknown }[] = [];

beforeEach(() => {
  sent.length = 0;
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    sent.push({ method, path, body: typeof body === "string" ? JSON.parse(body) : undefined });
    return method === "DELETE" ? new Response(null, { status: 204 }) : new Response("{}");
  });
});
afterEach(() => vi.unstubAllGlobals());

test("the parameters of a path are filled in and escaped, and empty parts of the query are left out", async () => {
  await ask("/api/runs/{run_id}", { params: { run_id: "a/b c" } });
  await ask("/api/runs", { query: { q: "", cursor: null, limit: 10 } });
  await send("DELETE", "/api/secrets/{name}", { params: { name: "päss" } });

  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /api/runs/a%2Fb%20c",
    "GET /api/runs?limit=10",
    "DELETE /api/secrets/p%C3%A4ss",
  ]);
  expect(pathOf("/api/runs/export", { query: { q: "a b", format: "csv" } })).toBe("/api/runs/export?q=a+b&format=csv");
});

test("a dry run says so in its body", async () => {
  await dryRun("/api/bulk", { body: { action: "pause", filter: "tag:x" } });

  expect(sent).toEqual([
    { method: "POST", path: "/api/bulk", body: { action: "pause", filter: "tag:x", dry_run: true } },
  ]);
});

test("an answer without a body is undefined", async () => {
  expect(await send("DELETE", "/api/session")).toBeUndefined();
});

test("method and path name the type of the answer", () => {
  expectTypeOf(ask<"/api/runs">).returns.resolves.toEqualTypeOf<RunPage>();
  expectTypeOf(ask<"/api/runs/{run_id}">).returns.resolves.toEqualTypeOf<Run>();
  expectTypeOf(send<"POST", "/api/bulk">).returns.resolves.toEqualTypeOf<BulkAction>();
  expectTypeOf(dryRun<"/api/bulk">).returns.resolves.toEqualTypeOf<BulkDryRun>();
});

/** Not called: each of these must fail the type check, or `tsc` reports the directive above it as unused. */
export function refusedByTheTypeCheck(): void {
  // @ts-expect-error: no such path
  void ask("/api/rnus");
  // @ts-expect-error: the path has no such method
  void send("PUT", "/api/runs/{run_id}", { params: { run_id: "r" } });
  // @ts-expect-error: the path has a parameter
  void ask("/api/runs/{run_id}");
  // @ts-expect-error: the parameter has another name
  void ask("/api/runs/{run_id}", { params: { id: "r" } });
  // @ts-expect-error: no such field of the query
  void ask("/api/runs", { query: { limits: 10 } });
  // @ts-expect-error: no such value
  void ask("/api/schedules/ranking", { query: { over: "1y" } });
  // @ts-expect-error: no such field of the body
  void send("POST", "/api/queues/{queue}/pause", { params: { queue: "q" }, body: { because: "" } });
  // @ts-expect-error: the body is required
  void send("POST", "/api/bulk", {});
  // @ts-expect-error: a dry run answers another type
  void send("POST", "/api/bulk", { body: { action: "pause", dry_run: true } });
  // @ts-expect-error: it answers text
  void ask("/api/runs/export");
  // @ts-expect-error: no such field of the answer
  void ask("/api/runs").then((page) => page.rows);
}
