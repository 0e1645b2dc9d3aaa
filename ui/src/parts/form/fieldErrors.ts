import { createContext, useContext } from "react";

import { ProblemError } from "@/api/problem";
import type { FieldError } from "@/api/schema";

/** The errors of a form by field: the server's complaints, and inputs that cannot be sent. */
export class FieldErrors {
  constructor(
    private readonly refusal: unknown = null,
    private readonly own: Readonly<Record<string, string>> = {},
  ) {}

  private get complaints(): FieldError[] {
    const answered = this.refusal instanceof ProblemError ? (this.refusal.problem.errors ?? []) : [];
    return [...Object.entries(this.own).map(([field, message]) => ({ field, message })), ...answered];
  }

  /** The complaints about a field and the fields below it: `action.articles` includes `action.articles.3.url`. */
  about(field: string): FieldError[] {
    return this.complaints.filter(
      (complaint) =>
        complaint.field === field || complaint.field.startsWith(`${field}.`) || complaint.field.startsWith(`${field}[`),
    );
  }

  /** The complaints that no field of the form shows. */
  beyond(shown: readonly string[]): FieldError[] {
    return this.complaints.filter(
      (complaint) =>
        !shown.some(
          (field) =>
            this.about(field).includes(complaint) ||
            complaint.field === field ||
            complaint.field.startsWith(`${field}.`) ||
            complaint.field.startsWith(`${field}[`),
        ),
    );
  }

  get any(): boolean {
    return this.complaints.length > 0;
  }

  /** A refusal that names no field: a conflict, an unreachable server. */
  get other(): unknown {
    return this.refusal && !(this.refusal instanceof ProblemError && (this.refusal.problem.errors ?? []).length)
      ? this.refusal
      : null;
  }
}

export const FieldErrorsContext = createContext(new FieldErrors());
export const useFieldErrors = (field: string): FieldError[] => useContext(FieldErrorsContext).about(field);
