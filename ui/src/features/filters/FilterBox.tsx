import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import { cx } from "@/parts/cx";
import { ErrorPointer } from "@/parts/form/ErrorPointer";
import { useKeys } from "@/parts/useKeys";

import { type Choice, type FilterKey, choicesOf } from "./choices";
import { replaceToken, tokenAt } from "./grammar";

/** How long a completion by Tab waits for the server's answer, in milliseconds. */
const PATIENCE = 500;

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
  const [activeText, setActiveText] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const queries = useQueryClient();
  const latest = useRef(text);
  latest.current = text;
  const placed = useRef<number | null>(null);
  const list = useId();
  // The typed text may have a trailing blank; only a different filter replaces it.
  useEffect(() => setText((before) => (before.trim() === value ? before : value)), [value]);
  // Before the next key: in a frame's time a person types on.
  useLayoutEffect(() => {
    if (placed.current !== null) input.current?.setSelectionRange(placed.current, placed.current);
    placed.current = null;
  });
  useKeys({ "/": () => input.current?.focus() });

  const token = tokenAt(text, caret);
  const field = token.key ? fields.find((field) => field.key === token.key) : undefined;
  const asked = open && field?.suggest ? field.suggest : null;
  const suggestions = {
    queryKey: queryKeys.suggest(asked ?? "", token.value),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      ask("/api/suggest", {
        query: { field: asked ?? undefined, prefix: token.value.replaceAll('"', ""), limit: 8 },
        signal,
      }),
    staleTime: 30_000,
  };
  const { data, isPlaceholderData } = useQuery({
    ...suggestions,
    enabled: asked !== null,
    placeholderData: (before, query) => (query?.queryKey[1] === asked ? before : undefined),
    retry: false,
  });
  const choices = open ? choicesOf(token, fields, field, data?.items ?? [], isPlaceholderData) : [];
  const active = choices.findIndex((choice) => choice.text === activeText);
  const move = (to: number): void => setActiveText(choices[to]?.text ?? null);

  const commit = (next: string): void => {
    setOpen(false);
    setActiveText(null);
    if (next.trim() !== value) onChange(next.trim());
  };
  const take = (choice: Choice): void => {
    const next = replaceToken(text, choice.from, choice.to, choice.text);
    setText(next.text);
    setCaret(next.caret);
    setActiveText(null);
    placed.current = next.caret;
    input.current?.focus();
    if (choice.text.endsWith(":")) setOpen(true);
    else commit(next.text);
  };
  // Typed faster than the server answers: its answer to the whole word decides, unless it takes too long.
  const complete = async (): Promise<void> => {
    const typed = text;
    const late = new Promise<null>((resolve) => window.setTimeout(() => resolve(null), PATIENCE));
    const answer = await Promise.race([queries.fetchQuery(suggestions).catch(() => null), late]);
    const [first] = answer ? choicesOf(token, fields, field, answer.items, false) : choices;
    if (first && latest.current === typed) take(first);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" && choices.length) {
      event.preventDefault();
      move((active + 1) % choices.length);
    } else if (event.key === "ArrowUp" && choices.length) {
      event.preventDefault();
      move(active > 0 ? active - 1 : choices.length - 1);
    } else if (event.key === "Tab" && choices.length && open && !event.shiftKey && token.value) {
      event.preventDefault();
      if (active < 0 && isPlaceholderData) void complete();
      else take(choices[Math.max(active, 0)] as Choice);
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
            placed.current = null;
            setText(event.target.value);
            setCaret(event.target.selectionStart ?? event.target.value.length);
            setOpen(true);
            setActiveText(null);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
          onFocus={() => setOpen(true)}
          onBlur={() => commit(text)}
          onKeyDown={press}
        />
        {text ? (
          <button
            type="button"
            aria-label="Clear filter"
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
