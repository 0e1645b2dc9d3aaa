import { describe, expect, it } from "vitest";

import type { ActionConfig, Schedule } from "@/api/schema";

import { actionOf, inputsOf } from "./action";
import { blankForm, commandOf, documentOf, formOf } from "./form";

describe("actions", () => {
  const every: ActionConfig[] = [
    { kind: "webhook", url: "http://127.0.0.1:1/x", method: "PUT", headers: { "X-A": "1: 2" }, body: { a: [1, null] } },
    { kind: "webhook", url: "http://127.0.0.1:1/x", method: "POST", body: false },
    {
      kind: "crawl",
      spider: "seo",
      project: "P",
      start_urls: ["http://127.0.0.1:1/"],
      depth: 0,
      params: { a: 1 },
      jobdir: "kept",
    },
    {
      kind: "articles",
      articles: [
        { url: "http://127.0.0.1:1/a,b", source: "S", category: "c", priority: 2 },
        { url: "http://127.0.0.1:1/c" },
      ],
      max_age_seconds: 60,
    },
    { kind: "pipeline", pipeline: "prices" },
    { kind: "task", task: "cleanup", parameters: { days: 3 } },
    { kind: "grpc", target_service: "s", target_method: "M", parameters: { a: { b: 1 } } },
    { kind: "somebody_elses", anything: [1] },
  ];
  it.each(every.map((action) => [action.kind, action] as const))("%s survives the inputs", (_, action) => {
    expect(actionOf(inputsOf(action))).toEqual({ action, errors: {} });
  });
  it("names the field whose JSON is none", () => {
    const written = actionOf({ kind: "task", inputs: { task: "t", parameters: "{" }, rest: {} });
    expect(Object.keys(written.errors)).toEqual(["action.parameters"]);
    expect(actionOf({ kind: "webhook", inputs: { url: "u", body: "[1," }, rest: {} }).errors["action.body"]).toContain(
      "Invalid JSON",
    );
  });
  it("sends what is no number as it is, for the server to complain", () => {
    expect(actionOf({ kind: "crawl", inputs: { depth: "deep" }, rest: {} }).action.depth).toBe("deep");
  });
  it("keeps an empty text of a kind that it does not know, and names its field when the JSON is none", () => {
    const action = { kind: "somebody_elses", note: "" };
    expect(actionOf(inputsOf(action)).action).toEqual(action);
    expect(actionOf({ kind: "somebody_elses", inputs: { config: "{" }, rest: {} }).errors).toHaveProperty([
      "action.config",
    ]);
  });
});

describe("form", () => {
  it("makes of a schedule the document it came from", () => {
    const schedule = {
      name: "n",
      description: "d",
      tags: ["a"],
      type: "interval",
      cron_expr: null,
      interval_seconds: 90,
      run_at: null,
      timezone: "UTC",
      action: { kind: "pipeline", pipeline: "p" },
      retry_policy: {
        strategy: "fixed",
        max_retries: 1,
        delay_seconds: 2,
        max_delay_seconds: 3,
        jitter: 0,
        dead_letter: false,
      },
      overlap: "allow_all",
      catchup: { mode: "all", window_seconds: 9, max_runs: 8, grace_seconds: 7 },
      queue: "q",
      priority: 1,
      timeout_seconds: 5,
      jitter_seconds: 6,
      alert: { after: 3, to: ["ops"] },
      exclude: ["calendar:SE", { from: "22:00", to: "06:00" }],
      only: [{ days: ["mon"] }],
      shift: "next_business_day",
      start_at: "2027-01-01T00:00:00.000Z",
      end_at: null,
      max_runs: 4,
    } as unknown as Schedule;
    const { body } = documentOf(formOf(schedule));
    const { cron_expr: _c, run_at: _r, end_at: _e, ...rest } = schedule as unknown as Record<string, unknown>;
    expect(JSON.parse(JSON.stringify(body))).toEqual(rest);
  });
  it("says itself as a command, with quotes where a shell needs them", () => {
    const form = blankForm("webhook", "it's", "", "UTC", "http://127.0.0.1:1/e");
    expect(commandOf(form)).toContain(
      `schedule create 'it'\\''s' --cron '0 9 * * *' --timezone UTC --url http://127.0.0.1:1/e`,
    );
  });
  it("is a command that reads the document where flags do not say all of it", () => {
    const webhook = blankForm("webhook", "w", "", "UTC", "http://127.0.0.1:1/e");
    const slow = { ...webhook, retry: { ...webhook.retry, delay_seconds: 99 } };
    for (const form of [blankForm("task", "t", "", "UTC", null), slow])
      expect(commandOf(form)).toMatch(/^schedule create --file - <<'EOF'\n\{/);
    expect(commandOf(slow)).toContain('"delay_seconds": 99');
  });
});
