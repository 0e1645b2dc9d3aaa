import { expect, test } from "vitest";

import { command, snippetsOf, withDocument } from "./snippets";

test("what is copied survives a shell", () => {
  const snippets = snippetsOf(
    {
      verb: "Retry",
      method: "POST",
      path: "/api/runs/run_1/retry",
      body: { note: "it's $HOME" },
      cli: "run retry run_1",
    },
    "http://localhost:8000",
    false,
  );
  expect(snippets.curl).toBe(
    "curl -sS -X POST \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"note\":\"it'\\''s $HOME\"}' \\\n  http://localhost:8000/api/runs/run_1/retry",
  );
  expect(snippets.cli).toBe("FOLIOT_URL=http://localhost:8000 foliot run retry run_1");
});

test("Python gets Python's words, and the key from the environment", () => {
  const snippets = snippetsOf(
    { verb: "Send", method: "POST", path: "/api/x", body: { a: true, b: null, c: [] } },
    "http://h",
    true,
  );
  expect(snippets.python).toContain('"a": True');
  expect(snippets.python).toContain('"b": None');
  expect(snippets.python).toContain("os.environ['FOLIOT_TOKEN']");
  expect(snippets.cli).toBeNull();
});

test("what is short stays on one line", () => {
  expect(snippetsOf({ verb: "List", method: "GET", path: "/api/runs" }, "http://h", false).curl).toBe(
    "curl -sS http://h/api/runs",
  );
});

test("a command has the flags that have a value, also one that begins with a dash", () => {
  const flags = { "--query": "it's", "--sort": "-duration", "--limit": 5, "--cursor": "" };
  expect(command("run list", flags)).toBe("run list --query='it'\\''s' --sort=-duration --limit=5");
});

test("a document is given on standard input", () => {
  expect(withDocument("schedule create --file -", { name: "a" })).toBe(
    `schedule create --file - <<'EOF'\n{\n  "name": "a"\n}\nEOF`,
  );
});
