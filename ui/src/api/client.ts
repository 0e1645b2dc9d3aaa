import { type Asked, offline, ProblemError, problemOf } from "./problem";

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Asking {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The same key for the same press of a button: a repeated request then does nothing twice. */
  once?: string;
}

let csrf: string | null = null;
const listeners = new Set<() => void>();
const answered = new Set<() => void>();
const reached = new Set<() => void>();
let away = false;

/** The session tells which token changes must carry. */
export function carryCsrf(token: string | null): void {
  csrf = token;
}

/** Called when the server says that nobody is signed in any more. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when the server answers, whatever it says: it is there. */
export function onAnswer(listener: () => void): () => void {
  answered.add(listener);
  return () => answered.delete(listener);
}

/** Whether the last request found nobody. A socket that is cut says less: something between may let no sockets through. */
export const isAway = (): boolean => away;

/** Called when that changes. */
export function onReach(listener: () => void): () => void {
  reached.add(listener);
  return () => reached.delete(listener);
}

function found(there: boolean): void {
  if (away === !there) return;
  away = !there;
  for (const tell of reached) tell();
}

/** `crypto.randomUUID` is missing on plain http, so the key is made by hand. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function pathOf(path: string, query?: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") given.set(name, String(value));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

declare global {
  interface Window {
    /** What `early.js` has asked already. */
    foliotEarly?: Record<string, Promise<Response>>;
  }
}

/** The answer to a question that was asked before this code was there; each is used once. */
function taken(path: string): Promise<Response> | undefined {
  const early = globalThis.window?.foliotEarly;
  const answer = early?.[path];
  if (early) delete early[path];
  return answer;
}

async function send(path: string, asking: Asking): Promise<Response> {
  const method = asking.method ?? "GET";
  const asked: Asked = { method, path: pathOf(path, asking.query), body: asking.body };
  const headers: Record<string, string> = { Accept: "application/json", ...asking.headers };
  if (asking.body !== undefined) headers["Content-Type"] ??= "application/json";
  if (method !== "GET") {
    if (csrf) headers["X-CSRF-Token"] = csrf;
    if (method === "POST") headers["Idempotency-Key"] = asking.once ?? freshKey();
  }
  let answer: Response;
  try {
    const early = method === "GET" ? taken(asked.path) : undefined;
    answer = await (early ??
      fetch(asked.path, {
        method,
        headers,
        body: asking.body === undefined ? undefined : JSON.stringify(asking.body),
        signal: asking.signal,
        credentials: "same-origin",
      }));
  } catch (error) {
    if (asking.signal?.aborted) throw error;
    found(false);
    throw offline(asked);
  }
  // A proxy answers 502 to 504 for a server that is away.
  const there = answer.status < 502 || answer.status > 504;
  found(there);
  if (there) for (const tell of answered) tell();
  if (answer.ok) return answer;
  const problem = problemOf(answer.status, await answer.text().catch(() => ""));
  if (answer.status === 401 && !path.startsWith("/api/session")) for (const tell of listeners) tell();
  throw new ProblemError(problem, asked, answer.headers.get("X-Request-ID"));
}

/** Asks the API and answers its JSON; every refusal is a `ProblemError`. */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const answer = await send(path, asking);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

/** The same, with the headers that matter (`ETag`). */
export async function askWithTag<T>(path: string, asking: Asking = {}): Promise<{ body: T; etag: string | null }> {
  const answer = await send(path, asking);
  return { body: (await answer.json()) as T, etag: answer.headers.get("ETag") };
}
