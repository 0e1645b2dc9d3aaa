import { createContext, useContext } from "react";

import { type Complaint, ProblemError } from "@/api/problem";

/** What is wrong with the form: what the server said, and what could not even be sent. */
export class Faults {
  constructor(
    private readonly refusal: unknown = null,
    private readonly own: Readonly<Record<string, string>> = {},
  ) {}

  private get complaints(): Complaint[] {
    const said = this.refusal instanceof ProblemError ? (this.refusal.problem.errors ?? []) : [];
    return [...Object.entries(this.own).map(([field, message]) => ({ field, message })), ...said];
  }

  /** All that concern a field: `action.articles` also hears of `action.articles.3.url`. */
  about(field: string): Complaint[] {
    return this.complaints.filter(
      (one) => one.field === field || one.field.startsWith(`${field}.`) || one.field.startsWith(`${field}[`),
    );
  }

  /** Those that no field of the form will show. */
  beyond(shown: readonly string[]): Complaint[] {
    return this.complaints.filter(
      (one) =>
        !shown.some(
          (field) =>
            this.about(field).includes(one) ||
            one.field === field ||
            one.field.startsWith(`${field}.`) ||
            one.field.startsWith(`${field}[`),
        ),
    );
  }

  get any(): boolean {
    return this.complaints.length > 0;
  }

  /** A refusal without a field: a conflict, a server that is gone. */
  get other(): unknown {
    return this.refusal && !(this.refusal instanceof ProblemError && (this.refusal.problem.errors ?? []).length)
      ? this.refusal
      : null;
  }
}

export const FaultsContext = createContext(new Faults());
export const useFaults = (field: string): Complaint[] => useContext(FaultsContext).about(field);
