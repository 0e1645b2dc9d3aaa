/** Typed calls of the HTTP API: requests, problems, retries, pages and streams. */
import type { FieldError, Operations, RunEvent } from "./schema.js";

export type { RunEvent };

export type Method = keyof Operations;
/** The paths of a method, as the API describes them: `/api/runs/{run_id}`. */
export type Path<M extends Method> = string & keyof Operations[M];
type Part<O, Name extends string> = O extends { [N in Name]?: infer T } ? T : never;
/** What an operation answers: JSON, or `undefined` without a body. */
export type Answer<M extends Method, P extends Path<M>> = Part<Operations[M][P], "answer">;
type Given<M extends Method, P extends Path<M>> = Omit<Operations[M][P], "answer" | "dryRun"> & CallOptions;
type Argument<O> = object extends O ? [options?: O] : [options: O];
/** The paths that answer pages of items. */
export type ListPath = {
  [P in Path<"GET">]: Answer<"GET", P> extends { items: unknown[]; next_cursor: string | null } ? P : never;
}[Path<"GET">];
type Item<P extends ListPath> = Answer<"GET", P> extends { items: (infer T)[] } ? T : never;

export interface CallOptions {
  signal?: AbortSignal;
  /** Of a POST: a request that is sent again under the same key takes effect once. */
  idempotencyKey?: string;
  /** The version that a change expects. */
  ifMatch?: number;
}

export interface FoliotOptions {
  url?: string;
  token?: string | undefined;
  /** Milliseconds for an answer. */
  timeout?: number;
  /** How often a request is repeated that may be. */
  retries?: number;
  fetch?: typeof fetch;
}

/** A request that was refused, or got no answer: then `status` is 0. */
export class FoliotError extends Error {
  override readonly name = "FoliotError";
  constructor(
    readonly detail: string,
    readonly status: number,
    readonly code: string,
    readonly errors: readonly FieldError[],
    /** Seconds that the server asks to wait. */
    readonly retryAfter: number | null,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

interface Sent {
  method: string;
  path: string;
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  stream?: boolean;
}

/** Silence after which a stream is cut, in milliseconds: the server sends a comment every 15 s. */
const SILENCE = 45_000;
const LONGEST_WAIT = 60;
const FOLLOW_PAUSES = [0.2, 0.5, 1, 2, 3, 5, 5, 5, 10];

export class Foliot {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(options: FoliotOptions = {}) {
    this.url = (options.url ?? "http://127.0.0.1:8000").replace(/\/+$/, "");
    this.#token = options.token;
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 2;
    this.#fetch = options.fetch ?? fetch;
  }

  get<P extends Path<"GET">>(path: P, ...given: Argument<Given<"GET", P>>): Promise<Answer<"GET", P>> {
    return this.#answer("GET", path, given[0]);
  }

  post<P extends Path<"POST">>(path: P, ...given: Argument<Given<"POST", P>>): Promise<Answer<"POST", P>> {
    return this.#answer("POST", path, given[0]);
  }

  put<P extends Path<"PUT">>(path: P, ...given: Argument<Given<"PUT", P>>): Promise<Answer<"PUT", P>> {
    return this.#answer("PUT", path, given[0]);
  }

  patch<P extends Path<"PATCH">>(path: P, ...given: Argument<Given<"PATCH", P>>): Promise<Answer<"PATCH", P>> {
    return this.#answer("PATCH", path, given[0]);
  }

  delete<P extends Path<"DELETE">>(path: P, ...given: Argument<Given<"DELETE", P>>): Promise<Answer<"DELETE", P>> {
    return this.#answer("DELETE", path, given[0]);
  }

  /** The items of a list, read page by page. */
  async *items<P extends ListPath>(path: P, ...given: Argument<Given<"GET", P>>): AsyncGenerator<Item<P>, void> {
    const options = { ...(given[0] as Sent | undefined) };
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { ...options.query, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await this.#answer("GET", path, { ...options, query })) as {
        items: Item<P>[];
        next_cursor: string | null;
      };
      yield* page.items;
      cursor = page.next_cursor;
    }
  }

  /** A run's events, each once, until the end; a stream that is cut is resumed after the last one received. */
  async *follow(runId: string, options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<RunEvent, void> {
    let lastId = options.after ? String(options.after) : null;
    for (let cuts = 0; ; ) {
      let cut: unknown;
      try {
        for await (const event of this.#events(runId, lastId, options.signal)) {
          cuts = 0;
          lastId = event.id ?? lastId;
          if (event.name === "end") return;
          yield JSON.parse(event.data) as RunEvent;
        }
      } catch (failed) {
        options.signal?.throwIfAborted();
        if (failed instanceof FoliotError && failed.status > 0 && failed.status < 500) throw failed;
        cut = failed;
      }
      const pause = FOLLOW_PAUSES[cuts];
      if (pause === undefined) {
        throw new FoliotError("the stream was cut and did not come back", 0, "", [], null, { cause: cut });
      }
      cuts += 1;
      await sleep(pause, options.signal);
    }
  }

  async *#events(runId: string, lastId: string | null, signal?: AbortSignal): AsyncGenerator<StreamEvent, void> {
    const silence = new AbortController();
    const response = await this.#send({
      method: "GET",
      path: `/api/runs/${encodeURIComponent(runId)}/events`,
      headers: { Accept: "text/event-stream", ...(lastId === null ? {} : { "Last-Event-ID": lastId }) },
      signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
      stream: true,
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!reader) return;
    let text = "";
    let watch = setTimeout(() => silence.abort(), SILENCE);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => silence.abort(), SILENCE);
        const blocks = (text + value).split("\n\n");
        text = blocks.pop() ?? "";
        yield* blocks.map(eventOf).filter((event) => event !== null);
      }
    } finally {
      clearTimeout(watch);
      await reader.cancel().catch(() => undefined);
    }
  }

  async #answer(method: string, path: string, given: unknown): Promise<never> {
    const { idempotencyKey, ifMatch, ...options } = (given ?? {}) as Omit<Sent, "method" | "path"> & CallOptions;
    const headers: Record<string, string> = { Accept: "application/json" };
    if (method === "POST") headers["Idempotency-Key"] = idempotencyKey ?? crypto.randomUUID();
    if (ifMatch !== undefined) headers["If-Match"] = `"${ifMatch}"`;
    const response = await this.#send({ ...options, method, path, headers });
    const text = await response.text();
    return (text ? JSON.parse(text) : undefined) as never;
  }

  async #send(sent: Sent): Promise<Response> {
    for (let tried = 0; ; tried += 1) {
      const failed = await this.#attempt(sent);
      if (failed instanceof Response) return failed;
      sent.signal?.throwIfAborted();
      const wait = pauseAfter(failed, sent, tried);
      if (tried >= this.#retries || wait === null) throw failed;
      await sleep(wait, sent.signal);
    }
  }

  async #attempt(sent: Sent): Promise<Response | FoliotError> {
    const headers: Record<string, string> = { ...sent.headers };
    if (this.#token) headers["Authorization"] = `Bearer ${this.#token}`;
    if (sent.body !== undefined) headers["Content-Type"] = "application/json";
    const limits = sent.stream ? [] : [AbortSignal.timeout(this.#timeout)];
    const signals = sent.signal ? [...limits, sent.signal] : limits;
    try {
      const response = await this.#fetch(this.#address(sent), {
        method: sent.method,
        headers,
        redirect: "error",
        ...(sent.body === undefined ? {} : { body: JSON.stringify(sent.body) }),
        ...(signals.length ? { signal: AbortSignal.any(signals) } : {}),
      });
      return response.ok ? response : await problemOf(response);
    } catch (cause) {
      return new FoliotError(`no answer from ${this.url}: ${String(cause)}`, 0, "", [], null, { cause });
    }
  }

  #address(sent: Sent): string {
    const path = sent.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(sent.params?.[name] ?? ""));
    const query = Object.entries(sent.query ?? {}).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString();
    return `${this.url}${path}${search ? `?${search}` : ""}`;
  }
}

/** Seconds until the next attempt; null when the request is not repeated. */
function pauseAfter(failed: FoliotError, sent: Sent, tried: number): number | null {
  const backoff = Math.min(8, 0.5 * 2 ** tried) * (0.5 + Math.random() / 2);
  const refused = failed.status === 429 || (failed.status === 503 && failed.retryAfter !== null);
  if (refused) return (failed.retryAfter ?? backoff) <= LONGEST_WAIT ? (failed.retryAfter ?? backoff) : null;
  const repeatable = sent.method === "GET" || "Idempotency-Key" in (sent.headers ?? {});
  return repeatable && [0, 502, 503, 504].includes(failed.status) ? backoff : null;
}

async function problemOf(response: Response): Promise<FoliotError> {
  const problem = (await response.json().catch(() => ({}))) as {
    detail?: string;
    title?: string;
    code?: string;
    errors?: FieldError[];
  };
  const asked = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const detail = problem.detail ?? problem.title ?? `the server answered ${response.status} without a reason`;
  const retryAfter = Number.isFinite(asked) ? asked : null;
  return new FoliotError(detail, response.status, problem.code ?? "", problem.errors ?? [], retryAfter);
}

interface StreamEvent {
  id: string | null;
  name: string;
  data: string;
}

function eventOf(block: string): StreamEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (name) fields.set(name, name === "data" && fields.has("data") ? `${fields.get("data")}\n${value}` : value);
  }
  const data = fields.get("data");
  return data === undefined ? null : { id: fields.get("id") ?? null, name: fields.get("event") ?? "message", data };
}

function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000);
    function done() {
      signal?.removeEventListener("abort", stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    }
    signal?.addEventListener("abort", stop, { once: true });
  });
}
