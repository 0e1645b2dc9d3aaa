import type { Complaint, Problem } from "./schema";

/** What the API says when it refuses: RFC 9457, with what a person needs to put it right. */
export type { Complaint, Problem };

/** What was asked, so that an error can be copied as a curl command. */
export interface Asked {
  method: string;
  path: string;
  body?: unknown;
}

export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    readonly asked: Asked,
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
  about(field: string): Complaint | undefined {
    return this.problem.errors?.find((one) => one.field === field || one.field.startsWith(`${field}.`));
  }

  /** The server was not reached at all. */
  get offline(): boolean {
    return this.problem.code === "offline";
  }

  /** Asking again may help. */
  get passing(): boolean {
    return this.offline || this.status >= 500 || this.status === 429;
  }
}

export const offline = (asked: Asked): ProblemError =>
  new ProblemError(
    {
      type: "about:blank",
      title: "The server does not answer",
      status: 0,
      detail: "The server could not be reached. It may be restarting; this page tries again by itself.",
      code: "offline",
    },
    asked,
  );

/** The problem of an answer, even when something between us and the server wrote it. */
export function problemOf(status: number, text: string): Problem {
  try {
    const read: unknown = JSON.parse(text);
    if (read && typeof read === "object" && "detail" in read && "code" in read) return read as Problem;
  } catch {
    // Not ours: a proxy's page, or nothing.
  }
  return {
    type: "about:blank",
    title: `The server answered ${status}`,
    status,
    detail: text && !text.includes("<") ? text.slice(0, 300) : `The answer was ${status} without a reason.`,
    code: status === 401 ? "unauthenticated" : status === 404 ? "not_found" : "unknown",
  };
}
