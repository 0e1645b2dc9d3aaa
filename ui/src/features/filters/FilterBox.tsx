import { useQuery } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { FilterSuggestion, SuggestField } from "@/api/schema";
import { cx } from "@/parts/cx";
import { ErrorPointer } from "@/parts/form/ErrorPointer";
import { useKeys } from "@/parts/useKeys";

import { quoteValue, replaceToken, tokenAt } from "./grammar";

export interface FilterKey {
  key: string;
  hint: string;
  /** The closed list of values, */
  values?: readonly string[];
  /** or the field of `/api/suggest` that knows them. */
  suggest?: SuggestField;
}

interface Choice {
  text: string;
  hint: string;
  from: number;
  to: number;
}

/** The input of the filter grammar: completes keys and values, and points at what the server cannot parse. */
export function FilterBox({
  value,
  onChange,
  fields,
  placeholder,
  error,
  label = "Filter",
}: {
  value: string;
  onChange: (text: string) => void;
  fields: readonly FilterKey[];
  placeholder?: string;
  /** The error of the list, if it has one: a complaint about `q` is shown here. */
  error?: unknown;
  label?: string;
}) {
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(0);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  // The typed text may have a trailing blank; only a different filter replaces it.
  useEffect(() => setText((before) => (before.trim() === value ? before : value)), [value]);
  useKeys({ "/": () => input.current?.focus() });

  const token = tokenAt(text, caret);
  const field = token.key ? fields.find((field) => field.key === token.key) : undefined;
  const asked = open && field?.suggest ? field.suggest : null;
  const { data } = useQuery({
    queryKey: queryKeys.suggest(asked ?? "", token.value),
    queryFn: ({ signal }) =>
      ask("/api/suggest", {
        query: { field: asked ?? undefined, prefix: token.value.replaceAll('"', ""), limit: 8 },
        signal,
      }),
    enabled: asked !== null,
    staleTime: 30_000,
    placeholderData: (before) => before,
    retry: false,
  });
  const choices = open ? choicesOf(token, fields, field, data?.items ?? []) : [];

  const commit = (next: string): void => {
    setOpen(false);
    setActive(-1);
    if (next.trim() !== value) onChange(next.trim());
  };
  const take = (choice: Choice): void => {
    const next = replaceToken(text, choice.from, choice.to, choice.text);
    setText(next.text);
    setCaret(next.caret);
    setActive(-1);
    input.current?.focus();
    window.requestAnimationFrame(() => input.current?.setSelectionRange(next.caret, next.caret));
    if (choice.text.endsWith(":")) setOpen(true);
    else commit(next.text);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" && choices.length) {
      event.preventDefault();
      setActive((active + 1) % choices.length);
    } else if (event.key === "ArrowUp" && choices.length) {
      event.preventDefault();
      setActive((active - 1 + choices.length) % choices.length);
    } else if (event.key === "Tab" && choices.length && open && !event.shiftKey && token.value) {
      event.preventDefault();
      take(choices[Math.max(active, 0)] as Choice);
    } else if (event.key === "Enter") {
      const chosen = choices[active];
      if (chosen) take(chosen);
      else commit(text);
    } else if (event.key === "Escape") {
      if (open && choices.length) setOpen(false);
      else input.current?.blur();
    }
  };
  const complaint =
    error instanceof ProblemError && error.status === 422 && text.trim() === value ? error.about("q") : undefined;

  return (
    <div className="relative min-w-0 flex-1">
      <div
        className={cx(
          "flex h-8 items-center gap-2 rounded border bg-bg px-2 focus-within:border-accent",
          complaint && "border-failed",
        )}
      >
        <Search size={14} className="shrink-0 text-muted" aria-hidden />
        <input
          ref={input}
          value={text}
          role="combobox"
          aria-label={label}
          aria-expanded={choices.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={active >= 0 ? `${list}-${active}` : undefined}
          aria-invalid={complaint ? true : undefined}
          aria-describedby={complaint ? `${list}-error` : undefined}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          className="min-w-0 flex-1 bg-transparent font-mono text-xs outline-none"
          onChange={(event) => {
            setText(event.target.value);
            setCaret(event.target.selectionStart ?? event.target.value.length);
            setOpen(true);
            setActive(-1);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
          onFocus={() => setOpen(true)}
          onBlur={() => commit(text)}
          onKeyDown={press}
        />
        {text ? (
          <button
            type="button"
            aria-label="Clear the filter"
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => {
              setText("");
              commit("");
            }}
            className="text-muted hover:text-ink"
          >
            <X size={14} />
          </button>
        ) : (
          <kbd className="rounded-sm border bg-surface px-1 font-mono text-[11px] text-muted">/</kbd>
        )}
      </div>
      <ul
        id={list}
        role="listbox"
        aria-label="Suggestions"
        hidden={!choices.length}
        className="absolute z-30 mt-1 max-h-72 w-full max-w-md overflow-auto rounded-lg bg-raised p-1 shadow-overlay"
      >
        {choices.map((choice, index) => (
          <li
            key={choice.text}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault();
              take(choice);
            }}
            className={cx(
              "flex cursor-pointer items-baseline gap-3 rounded-sm px-2 py-1",
              index === active ? "bg-accent-tint" : "hover:bg-surface",
            )}
          >
            <span className="truncate font-mono text-xs">{choice.text}</span>
            <span className="ml-auto truncate text-xs text-muted">{choice.hint}</span>
          </li>
        ))}
      </ul>
      {complaint ? (
        <div id={`${list}-error`} role="alert" className="mt-1 text-xs text-failed-ink">
          <ErrorPointer text={value} position={complaint.position} />
          {complaint.got ? <code className="font-mono">{String(complaint.got)}</code> : "It"} {complaint.message}.{" "}
          {complaint.suggestion ? (
            <button type="button" className="underline" onClick={() => commit(complaint.suggestion as string)}>
              Use <code className="font-mono">{complaint.suggestion}</code>
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function choicesOf(
  token: ReturnType<typeof tokenAt>,
  fields: readonly FilterKey[],
  field: FilterKey | undefined,
  suggestions: FilterSuggestion[],
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
  const typed = token.value.toLowerCase();
  const fixed = (field.values ?? [])
    .filter((value) => value.startsWith(typed) && value !== typed)
    .map((one) => ({ text: one, hint: "", from: token.valueFrom, to: token.to }));
  const found = suggestions
    .filter((one) => one.value !== token.value)
    .map((one) => ({
      text: quoteValue(one.value),
      hint: one.hint ?? (one.label === one.value ? "" : one.label),
      from: token.valueFrom,
      to: token.to,
    }));
  return field.values ? fixed : found;
}
