import { offline, ProblemError, problemOf, type SentRequest } from "./problem";
import type { Operations } from "./schema";

/** One page of a list; `next_cursor` asks for the next one. */
export interface CursorPage<T> {
  items: T[];
  next_cursor: string | null;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export type Method = keyof Operations;
/** The paths of a method, as the API describes them: `/api/runs/{run_id}`. */
export type Path<M extends Method> = string & keyof Operations[M];
/** The paths whose answer is JSON, or nothing. */
export type JsonPath<M extends Method> = {
  [P in Path<M>]: Operations[M][P] extends { answer: unknown } ? P : never;
}[Path<M>];
/** The paths that answer a `CursorPage`, and need no parameter. */
export type ListPath = {
  [P in Path<"GET">]: Operations["GET"][P] extends { params: object }
    ? never
    : Operations["GET"][P] extends { answer: CursorPage<unknown> }
      ? P
      : never;
}[Path<"GET">];
/** The paths whose body may ask for a dry run. */
export type DryRunPath = {
  [P in Path<"POST">]: Operations["POST"][P] extends { dryRun: unknown } ? P : never;
}[Path<"POST">];

type Part<O, Name extends string> = O extends { [N in Name]?: infer T } ? T : never;

export type Answer<M extends Method, P extends Path<M>> = Part<Operations[M][P], "answer">;
export type QueryOf<P extends Path<"GET">> = NonNullable<Part<Operations["GET"][P], "query">>;
export type DryRunAnswer<P extends DryRunPath> = Part<Operations["POST"][P], "dryRun">;
export type Row<P extends ListPath> = Answer<"GET", P> extends CursorPage<infer T> ? T : never;

interface Transport {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The `Idempotency-Key` of a POST: a request that is sent again under the same key takes effect once. */
  idempotencyKey?: string;
}

/** The `params` of the path, the `query` and the `body` of an operation, as far as it has them. */
export type Options<M extends Method, P extends Path<M>> = Omit<Operations[M][P], "answer" | "dryRun"> & Transport;
/** The options as the last argument, which is left out when none is required. */
type OptionsArgument<O> = object extends O ? [options?: O] : [options: O];

interface RequestOptions extends Transport {
  params?: Record<string, string>;
  query?: Query;
  body?: unknown;
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

/** The address of a GET: its path with the parameters filled in, and the query. */
export function pathOf<P extends Path<"GET">>(
  path: P,
  ...[options]: OptionsArgument<Omit<Operations["GET"][P], "answer">>
): string {
  return addressOf(path, options ?? {});
}

function addressOf(path: string, { params, query }: RequestOptions): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
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

async function responseOf(method: string, path: string, options: RequestOptions): Promise<Response> {
  const sent: SentRequest = { method, path: addressOf(path, options), body: options.body };
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

/**
 * Sends a request to a path that the server has named and returns the JSON of its answer; every refusal is thrown as a
 * `ProblemError`. Paths that are written here are sent by `ask`, `send` and `dryRun`, which know their types.
 */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
  const answer = await responseOf(method, path, options);
  return answer.status === 204 ? undefined : await answer.json();
}

/** Reads: `ask("/api/runs/{run_id}", { params: { run_id } })`. */
export function ask<P extends JsonPath<"GET">>(
  path: P,
  ...[options]: OptionsArgument<Options<"GET", P>>
): Promise<Answer<"GET", P>> {
  return request("GET", path, options) as Promise<Answer<"GET", P>>;
}

/** Changes: `send("POST", "/api/runs/{run_id}/cancel", { params: { run_id } })`. */
export function send<M extends Exclude<Method, "GET">, P extends JsonPath<M>>(
  method: M,
  path: P,
  ...[options]: OptionsArgument<Options<M, P>>
): Promise<Answer<M, P>> {
  return request(method, path, options) as Promise<Answer<M, P>>;
}

/** Asks what a change would do, by a body with `dry_run`. */
export function dryRun<P extends DryRunPath>(path: P, options: Options<"POST", P>): Promise<DryRunAnswer<P>> {
  return request("POST", path, { ...options, body: { ...options.body, dry_run: true } }) as Promise<DryRunAnswer<P>>;
}
