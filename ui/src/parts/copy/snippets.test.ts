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

const python = (method: string, path: string, body?: unknown) =>
  snippetsOf({ verb: "Send", method, path, body }, "http://h", true).python;

test("Python calls a method of the client, in Python's words", () => {
  expect(python("POST", "/api/schedules", { name: "it's", tags: [], paused: true, queue: null })).toBe(
    'from foliot.client import Foliot\n\nwith Foliot("http://h") as client:\n' +
      '    print(client.schedules.create(name="it\'s", tags=[], paused=True, queue=None))\n',
  );
  expect(python("PATCH", "/api/schedules/sch_1", { name: "new" })).toContain('client.schedules.update("sch_1", name="new")');
  expect(python("GET", "/api/hosts/a%2Fb")).toContain('client.hosts.get("a/b")');
});

test("Python iterates over a list", () => {
  expect(python("GET", "/api/runs?q=state%3Afailed&limit=50")).toContain(
    '    for item in client.runs.list(q="state:failed", limit=50):\n        print(item)\n',
  );
  expect(python("GET", "/jobs/?kind=articles")).toContain('client.jobs.list(kind="articles")');
});

test("Python knows the longer path from the parameter, keywords and dry runs", () => {
  expect(python("GET", "/api/runs/count?q=a")).toContain('client.runs.count(q="a")');
  expect(python("GET", "/api/calendar?from=a&to=b")).toContain('client.calendar.show(from_="a", to="b")');
  expect(python("POST", "/api/bulk", { action: "retry", dry_run: true })).toContain(
    'client.bulk.create_dry_run(action="retry")',
  );
});

test("Python asks a route without a method by its path, and breaks long lines", () => {
  expect(python("POST", "/api/new?a=1", [1])).toContain(
    'client.request(\n        "POST",\n        "/api/new",\n        query={\n            "a": "1",\n        },\n        body=[\n',
  );
  expect(python("POST", "/api/schedules", { name: "n".repeat(90) })).toContain(
    `    print(client.schedules.create(\n        name="${"n".repeat(90)}",\n    ))\n`,
  );
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
