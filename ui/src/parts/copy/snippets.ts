/** A request as curl, CLI and Python code. Pure. */
interface SentRequest {
  method: string;
  path: string;
  body?: unknown;
}

export interface Call extends SentRequest {
  /** What it does: "List runs", "Run now". */
  verb: string;
  /** The command of the CLI, without `foliot`. */
  cli?: string;
}

export interface Snippets {
  curl: string;
  cli: string | null;
  python: string;
}

/** Quoted for a POSIX shell. */
export const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

type Flag = string | number | null | undefined;

/** A command with those flags that have a value. */
export function command(words: string, flags: Record<string, Flag>): string {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // In one word: a value may begin with a dash.
  return [words, ...given.map(([flag, value]) => `${flag}=${shellQuoted(String(value))}`)].join(" ");
}

/** A command that reads a document from standard input. */
export const withDocument = (words: string, document: unknown): string =>
  `${words} <<'EOF'\n${JSON.stringify(document, null, 2)}\nEOF`;

/** The command, sent to the server of this page. */
export const atServer = (cli: string, origin: string): string => `FOLIOT_URL=${shellQuoted(origin)} foliot ${cli}`;

export function snippetsOf(call: Call, origin: string, secured: boolean): Snippets {
  return {
    curl: curl(call, origin, secured),
    cli: call.cli ? atServer(call.cli, origin) : null,
    python: python(call, origin, secured),
  };
}

export function curl(call: SentRequest, origin: string, secured: boolean): string {
  const parts = ["curl -sS"];
  if (call.method !== "GET") parts.push(`-X ${call.method}`);
  if (secured) parts.push(`-H "Authorization: Bearer $FOLIOT_TOKEN"`);
  if (call.body !== undefined)
    parts.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(call.body))}`);
  parts.push(shellQuoted(`${origin}${call.path}`));
  const line = parts.join(" ");
  return line.length <= 100 ? line : parts.join(" \\\n  ").replace("curl -sS \\\n  -X", "curl -sS -X");
}

/** Only the standard library, so that it runs wherever it is pasted. */
function python(call: SentRequest, origin: string, secured: boolean): string {
  const headers: string[] = [];
  if (secured) headers.push(`"Authorization": f"Bearer {os.environ['FOLIOT_TOKEN']}"`);
  if (call.body !== undefined) headers.push(`"Content-Type": "application/json"`);
  const given = [JSON.stringify(`${origin}${call.path}`)];
  if (call.method !== "GET") given.push(`method=${JSON.stringify(call.method)}`);
  if (headers.length) given.push(`headers={${headers.join(", ")}}`);
  if (call.body !== undefined) given.push(`data=json.dumps(${pythonLiteral(call.body, 0)}).encode()`);
  return [
    `import json${secured ? "\nimport os" : ""}`,
    "import urllib.request",
    "",
    `request = urllib.request.Request(\n    ${given.join(",\n    ")},\n)`,
    "with urllib.request.urlopen(request) as answer:",
    "    print(json.load(answer))",
    "",
  ].join("\n");
}

/** A value as Python writes it. */
export function pythonLiteral(value: unknown, depth: number): string {
  const pad = "    ".repeat(depth + 2);
  const end = "    ".repeat(depth + 1);
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) {
    return value.length
      ? `[\n${value.map((item) => `${pad}${pythonLiteral(item, depth + 1)},\n`).join("")}${end}]`
      : "[]";
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  if (!entries.length) return "{}";
  return `{\n${entries.map(([key, item]) => `${pad}${JSON.stringify(key)}: ${pythonLiteral(item, depth + 1)},\n`).join("")}${end}}`;
}
