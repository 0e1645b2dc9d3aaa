/** A request as curl, CLI and Python code. Pure. */
import { PYTHON_METHODS } from "./pythonMethods";

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
    python: python(call, origin),
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

/** A call of foliot.client, which reads the token from the environment. */
function python(call: SentRequest, origin: string): string {
  const { method, items } = pythonCall(call);
  const lines = items ? [`for item in client.${method}:`, "    print(item)"] : [`print(client.${method})`];
  return [
    "from foliot.client import Foliot",
    "",
    `with Foliot(${JSON.stringify(origin)}) as client:`,
    ...lines.map((line) => `    ${line}`),
    "",
  ].join("\n");
}

/** The method with its arguments, and whether its answer is iterated. */
function pythonCall(call: SentRequest): { method: string; items: boolean } {
  const { pathname, searchParams } = new URL(call.path, "http://foliot.invalid");
  const found = pythonMethodOf(call.method, pathname);
  const query = Object.fromEntries(
    [...searchParams].map(([key, value]) => [key, NUMBERS.has(key) ? Number(value) : value]),
  );
  if (!found || (call.body !== undefined && !isRecord(call.body))) {
    const given = [JSON.stringify(call.method), JSON.stringify(pathname)];
    if (searchParams.size) given.push(`query=${pythonLiteral(query, 1)}`);
    if (call.body !== undefined) given.push(`body=${pythonLiteral(call.body, 1)}`);
    return { method: withArguments("request", given), items: false };
  }
  const { dry_run: dryRun, ...body } = (call.body ?? {}) as Record<string, unknown>;
  const given = Object.entries({ ...query, ...body }).filter(([, value]) => value !== undefined);
  return {
    method: withArguments(dryRun === true ? `${found.name}_dry_run` : found.name, [
      ...found.segments.map((segment) => JSON.stringify(segment)),
      ...given.map(([key, value]) => `${PYTHON_KEYWORDS.has(key) ? `${key}_` : key}=${pythonLiteral(value, 1)}`),
    ]),
    items: found.items,
  };
}

/** Parameters that the client types as numbers. */
const NUMBERS = new Set(["after", "limit", "rows", "skip"]);

const isRecord = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

const PYTHON_KEYWORDS = new Set(["as", "class", "for", "from", "in", "is", "not", "or", "and", "with"]);

function withArguments(name: string, given: readonly string[]): string {
  const line = `${name}(${given.join(", ")})`;
  if (line.length <= 90 && !line.includes("\n")) return line;
  return `${name}(\n${given.map((each) => `        ${each},\n`).join("")}    )`;
}

interface PythonMethod {
  name: string;
  items: boolean;
  /** The parts of the path that the method takes. */
  segments: string[];
}

/** The method that sends a request; of several that match, the one whose path has the fewest parameters. */
export function pythonMethodOf(method: string, path: string): PythonMethod | null {
  const asked = path.replace(/(?<=.)\/$/, "").split("/");
  let found: PythonMethod | null = null;
  for (const line of PYTHON_METHODS.trim().split("\n")) {
    const [verb, template, name, star] = line.split(" ") as [string, string, string, string?];
    const parts = template.split("/");
    if (verb !== method || parts.length !== asked.length) continue;
    if (!parts.every((part, at) => part.startsWith("{") || part === asked[at])) continue;
    const segments = asked.filter((_, at) => parts[at]?.startsWith("{")).map(decodeURIComponent);
    if (!found || segments.length < found.segments.length) found = { name, items: star === "*", segments };
  }
  return found;
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
