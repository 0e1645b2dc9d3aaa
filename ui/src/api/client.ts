import { offline, ProblemError, problemOf, type SentRequest } from "./problem";

/** One page of a list; `next_cursor` asks for the next one. */
export interface CursorPage<T> {
  items: T[];
  next_cursor: string | null;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The `Idempotency-Key` of a POST: a request that is sent again under the same key takes effect once. */
  idempotencyKey?: string;
}

let csrf: string | null = null;
const signedOutListeners = new Set<() => void>();
const answerListeners = new Set<() => void>();
const reachabilityListeners = new Set<() => void>();
let unreachable = false;

/** The session answers the CSRF token that every change must send. */
export function setCsrfToken(token: string | null): void {
  csrf = token;
}

/** Called when a request is refused because the session has ended. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

/** Called on every answer, also on a refusal: the server is reachable. */
export function onAnswer(listener: () => void): () => void {
  answerListeners.add(listener);
  return () => answerListeners.delete(listener);
}

/** Whether the last request got no answer. A closed WebSocket is no sign of that: a proxy may refuse sockets alone. */
export const isUnreachable = (): boolean => unreachable;

/** Called when reachability changes. */
export function onReachabilityChange(listener: () => void): () => void {
  reachabilityListeners.add(listener);
  return () => reachabilityListeners.delete(listener);
}

function setReachable(there: boolean): void {
  if (unreachable === !there) return;
  unreachable = !there;
  for (const listener of reachabilityListeners) listener();
}

/** `crypto.randomUUID` is missing on plain http, so the key is made by hand. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function pathOf(path: string, query?: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

declare global {
  interface Window {
    /** Requests that `prefetch.js` sent before the scripts were loaded, by their path. */
    foliotPrefetched?: Record<string, Promise<Response>>;
  }
}

/** Takes the answer of a request that `prefetch.js` has sent; each is used once. */
function takePrefetched(path: string): Promise<Response> | undefined {
  const prefetched = globalThis.window?.foliotPrefetched;
  const answer = prefetched?.[path];
  if (prefetched) delete prefetched[path];
  return answer;
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const method = options.method ?? "GET";
  const sent: SentRequest = { method, path: pathOf(path, options.query), body: options.body };
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] ??= "application/json";
  if (method !== "GET") {
    if (csrf) headers["X-CSRF-Token"] = csrf;
    if (method === "POST") headers["Idempotency-Key"] = options.idempotencyKey ?? newIdempotencyKey();
  }
  let answer: Response;
  try {
    const prefetched = method === "GET" ? takePrefetched(sent.path) : undefined;
    answer = await (prefetched ??
      fetch(sent.path, {
        method,
        headers,
        body: options.body === undefined ? undefined : JSON.stringify(options.body),
        signal: options.signal,
        credentials: "same-origin",
      }));
  } catch (error) {
    if (options.signal?.aborted) throw error;
    setReachable(false);
    throw offline(sent);
  }
  // A proxy answers 502 to 504 for a server that it cannot reach.
  const there = answer.status < 502 || answer.status > 504;
  setReachable(there);
  if (there) for (const listener of answerListeners) listener();
  if (answer.ok) return answer;
  const problem = problemOf(answer.status, await answer.text().catch(() => ""));
  if (answer.status === 401 && !path.startsWith("/api/session")) for (const listener of signedOutListeners) listener();
  throw new ProblemError(problem, sent, answer.headers.get("X-Request-ID"));
}

/** Sends a request and returns the JSON of its answer; every refusal is thrown as a `ProblemError`. */
export async function ask<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const answer = await send(path, options);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

/** The same, with the `ETag` of the answer. */
export async function askWithEtag<T>(
  path: string,
  options: RequestOptions = {},
): Promise<{ body: T; etag: string | null }> {
  const answer = await send(path, options);
  return { body: (await answer.json()) as T, etag: answer.headers.get("ETag") };
}
