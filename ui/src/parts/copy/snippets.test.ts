import { expect, test } from "vitest";

import { snippetsOf } from "./snippets";

test("what is copied survives a shell", () => {
  const snippets = snippetsOf(
    { method: "POST", path: "/api/runs/run_1/retry", body: { note: "it's $HOME" }, cli: "run retry run_1" },
    "http://localhost:8000",
    false,
  );
  expect(snippets.curl).toBe(
    "curl -sS -X POST \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"note\":\"it'\\''s $HOME\"}' \\\n  http://localhost:8000/api/runs/run_1/retry",
  );
  expect(snippets.cli).toBe("foliot run retry run_1");
});

test("Python gets Python's words, and the key from the environment", () => {
  const snippets = snippetsOf({ method: "POST", path: "/api/x", body: { a: true, b: null, c: [] } }, "http://h", true);
  expect(snippets.python).toContain('"a": True');
  expect(snippets.python).toContain('"b": None');
  expect(snippets.python).toContain("os.environ['FOLIOT_TOKEN']");
  expect(snippets.cli).toBeNull();
});

test("what is short stays on one line", () => {
  expect(snippetsOf({ method: "GET", path: "/api/runs" }, "http://h", false).curl).toBe("curl -sS http://h/api/runs");
});
