import type { FieldError, Problem } from "./schema";

/** The request that failed, so that it can be copied as a curl command. */
export interface SentRequest {
  method: string;
  path: string;
  body?: unknown;
}

export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    readonly request: SentRequest,
    readonly requestId: string | null = null,
    readonly at: Date = new Date(),
  ) {
    super(problem.detail || problem.title);
    this.name = "ProblemError";
  }

  get status(): number {
    return this.problem.status;
  }

  get code(): string {
    return this.problem.code;
  }

  /** The complaint about one field, if there is one; `q` finds `q`, `action` finds `action.url`. */
  about(field: string): FieldError | undefined {
    return this.problem.errors?.find((error) => error.field === field || error.field.startsWith(`${field}.`));
  }

  /** The server was not reached at all. */
  get offline(): boolean {
    return this.problem.code === "offline";
  }

  /** Sending the request again may succeed. */
  get retryable(): boolean {
    return this.offline || this.status >= 500 || this.status === 429;
  }
}

export const offline = (request: SentRequest): ProblemError =>
  new ProblemError(
    {
      type: "about:blank",
      title: "The server is not responding",
      status: 0,
      detail: "Cannot reach the server. It may be restarting; this page retries automatically.",
      code: "offline",
    },
    request,
  );

/** The problem that an answer carries, also when a proxy wrote the answer. */
export function problemOf(status: number, text: string): Problem {
  try {
    const read: unknown = JSON.parse(text);
    if (read && typeof read === "object" && "detail" in read && "code" in read) return read as Problem;
  } catch {
    // Not a problem document: a proxy's page, or an empty body.
  }
  return {
    type: "about:blank",
    title: `The server answered ${status}`,
    status,
    detail: text && !text.includes("<") ? text.slice(0, 300) : `The server gave no reason (HTTP ${status}).`,
    code: status === 401 ? "unauthenticated" : status === 404 ? "not_found" : "unknown",
  };
}

/** The message of whatever was thrown, for a toast or a line of text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
