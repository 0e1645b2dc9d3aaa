import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import type { Preview } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { type Complaint, ProblemError } from "@/api/problem";

import { instantOf, type Form, triggerOf, type When } from "./form";

const PAUSE = 150;
const SHOWN = 20;

/** What the server is asked: the words, or the trigger that they were turned into. */
export function askedOf(when: When, timezone: string): Record<string, unknown> {
  return when.by === "words" && when.words.trim() ? { words: when.words, timezone } : triggerOf(when, timezone);
}

export interface Previewed {
  data: Preview | undefined;
  /** The question that `data` answers. */
  settled: boolean;
  error: unknown;
  complaints: (field: string) => Complaint[];
}

/** The server's view of what is being typed, a moment after the last key. */
export function usePreview(form: Form): Previewed {
  const { when, timezone, startAt, endAt } = form;
  const body = useMemo(
    () => ({
      ...askedOf(when, timezone),
      start_at: later(instantOf(startAt, timezone)),
      end_at: instantOf(endAt, timezone),
      count: SHOWN,
    }),
    [when, timezone, startAt, endAt],
  );
  const [asked, setAsked] = useState(body);
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(body), PAUSE);
    return () => window.clearTimeout(timer);
  }, [body]);
  const same = JSON.stringify(asked) === JSON.stringify(body);
  const answer = useQuery({
    queryKey: keys.preview(asked),
    queryFn: ({ signal }) => ask<Preview>("/api/schedules/preview", { method: "POST", body: asked, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
    retry: (count, error) => count < 2 && error instanceof ProblemError && error.passing,
  });
  // While it is not understood, what was is still shown, dimmed.
  const last = useRef<Preview | undefined>(undefined);
  if (answer.data) last.current = answer.data;
  return {
    data: answer.data ?? last.current,
    settled: same && !answer.isPlaceholderData && !answer.isFetching && !answer.error,
    error: answer.error,
    complaints: (field) =>
      same && answer.error instanceof ProblemError
        ? (answer.error.problem.errors ?? []).filter((one) => one.field === field)
        : [],
  };
}

/** `start_at` of a preview is where it counts from: one that has passed would count from the past. */
const later = (at: string | undefined): string | undefined => (at && Date.parse(at) > Date.now() ? at : undefined);
