import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { send } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { FieldError } from "@/api/schema";
import type { PreviewRequest, SchedulePreview } from "@/api/schema";
import { instantOf } from "@/time/datetimeLocal";

import { type Form, restrictionOf, type TriggerInputs, triggerOf } from "../editor/form";

const PAUSE = 150;
const SHOWN = 20;

/** The body of the preview request: natural language, or the trigger. */
export function previewRequest(when: TriggerInputs, timezone: string): PreviewRequest {
  return when.by === "words" && when.words.trim() ? { words: when.words, timezone } : triggerOf(when, timezone);
}

export interface TriggerPreview {
  data: SchedulePreview | undefined;
  /** The request that `data` answers. */
  settled: boolean;
  error: unknown;
  complaints: (field: string) => FieldError[];
}

/** The server's preview of the trigger, debounced. */
export function usePreview(form: Form): TriggerPreview {
  const { when, timezone, startAt, endAt } = form;
  const body = useMemo(
    () => ({
      ...previewRequest(when, timezone),
      ...(when.type === "after" ? {} : restrictionOf(form)),
      start_at: later(instantOf(startAt, timezone)),
      end_at: instantOf(endAt, timezone),
      count: SHOWN,
    }),
    [when, timezone, startAt, endAt, form.exclude, form.only, form.shift],
  );
  const [asked, setAsked] = useState(body);
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(body), PAUSE);
    return () => window.clearTimeout(timer);
  }, [body]);
  const same = JSON.stringify(asked) === JSON.stringify(body);
  const answer = useQuery({
    queryKey: queryKeys.preview(asked),
    queryFn: ({ signal }) => send("POST", "/api/schedules/preview", { body: asked, signal }),
    placeholderData: keepPreviousData,
    // There is nothing to preview until a schedule to follow is chosen.
    enabled: !("after" in asked && asked.after?.schedule.length === 0),
    refetchInterval: 60_000,
    retry: (count, error) => count < 2 && error instanceof ProblemError && error.retryable,
  });
  // While the text cannot be parsed, the last preview is still shown, dimmed.
  const last = useRef<SchedulePreview | undefined>(undefined);
  if (answer.data) last.current = answer.data;
  return {
    data: answer.data ?? last.current,
    settled: same && !answer.isPlaceholderData && !answer.isFetching && !answer.error,
    error: answer.error,
    complaints: (field) =>
      same && answer.error instanceof ProblemError
        ? (answer.error.problem.errors ?? []).filter((error) => error.field === field)
        : [],
  };
}

/** A preview counts from `start_at`, so one in the past is left out. */
const later = (at: string | undefined): string | undefined => (at && Date.parse(at) > Date.now() ? at : undefined);
