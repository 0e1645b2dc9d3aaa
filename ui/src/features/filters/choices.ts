import type { FilterSuggestion, SuggestField } from "@/api/schema";

import { type Token, quoteValue } from "./grammar";

export interface FilterKey {
  key: string;
  hint: string;
  /** The closed list of values, */
  values?: readonly string[];
  /** or the field of `/api/suggest` that knows them. */
  suggest?: SuggestField;
}

/** A completion: `text` replaces what stands between `from` and `to`. */
export interface Choice {
  text: string;
  hint: string;
  from: number;
  to: number;
}

/**
 * The completions of a token. Suggestions that are `stale`, because they answer fewer letters than are typed by now,
 * are offered only as far as they contain what is typed.
 */
export function choicesOf(
  token: Token,
  fields: readonly FilterKey[],
  field: FilterKey | undefined,
  suggestions: readonly FilterSuggestion[],
  stale: boolean,
): Choice[] {
  if (!token.key) {
    const typed = token.value.replace(/^-/, "").toLowerCase();
    return fields
      .filter((field) => field.key.startsWith(typed))
      .slice(0, 12)
      .map((one) => ({
        text: `${token.negated ? "-" : ""}${one.key}:`,
        hint: one.hint,
        from: token.from,
        to: token.to,
      }));
  }
  if (!field) return [];
  const typed = token.value.replaceAll('"', "").toLowerCase();
  if (field.values)
    return field.values
      .filter((value) => value.startsWith(typed) && value !== typed)
      .map((one) => ({ text: one, hint: "", from: token.valueFrom, to: token.to }));
  return suggestions
    .filter((one) => one.value !== token.value && (!stale || contains(one, typed)))
    .map((one) => ({
      text: quoteValue(one.value),
      hint: one.hint ?? (one.label === one.value ? "" : one.label),
      from: token.valueFrom,
      to: token.to,
    }));
}

const contains = (one: FilterSuggestion, typed: string): boolean =>
  [one.value, one.label].some((text) => text.toLowerCase().includes(typed));
