import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { Field, INPUT } from "@/parts/form/Field";
import { useDebounced } from "@/parts/useDebounced";

import type { TriggerPreview } from "../preview/usePreview";
import type { TriggerInputs } from "./form";

const OUTCOMES = [
  { value: "success", label: "succeeds" },
  { value: "failed", label: "fails" },
  { value: "partial", label: "ends with some failed items" },
  { value: "degraded", label: "ends degraded" },
  { value: "changed", label: "finds a change (watches)" },
  { value: "any", label: "ends, however" },
] as const;

/** Which schedules it follows, and how their runs must have ended. */
export function FollowFields({
  when,
  preview,
  onChange,
}: {
  when: TriggerInputs;
  preview: TriggerPreview;
  onChange: (when: Partial<TriggerInputs>) => void;
}) {
  const [text, setText] = useState("");
  const typed = useDebounced(text.trim(), 200);
  const query = { q: typed ? `name:${JSON.stringify(typed)}` : undefined, limit: 20 };
  const { data } = useQuery({
    queryKey: queryKeys.schedules({ ...query, for: "follow" }),
    queryFn: ({ signal }) => ask("/api/schedules", { query, signal }),
    placeholderData: (before) => before,
  });
  const chosen = useQuery({
    queryKey: queryKeys.schedules({ ids: when.parents.join(",") }),
    queryFn: async ({ signal }) =>
      Promise.all(
        when.parents
          .filter((parent) => parent.startsWith("sch_"))
          .map((id) => ask("/api/schedules/{schedule_id}", { params: { schedule_id: id }, signal })),
      ),
    enabled: when.parents.some((parent) => parent.startsWith("sch_")),
    placeholderData: (before) => before,
  });
  const names = Object.fromEntries((chosen.data ?? []).map((schedule) => [schedule.id, schedule.name]));
  const set = (change: Partial<TriggerInputs>): void => onChange({ ...change, by: "trigger", words: "" });
  const add = (name: string): void => {
    const match = data?.items.filter((schedule) => schedule.name === name) ?? [];
    const parent = match.length === 1 && match[0] ? match[0].id : name;
    if (name && !when.parents.includes(parent)) set({ parents: [...when.parents, parent] });
    setText("");
  };
  return (
    <>
      <Field
        name="after.schedule"
        label="After runs of"
        more={when.parents.length ? preview.complaints("after.schedule") : []}
        hint="Choose a schedule, or type its name and press Enter."
      >
        {(wired) => (
          <div className="flex flex-col gap-2">
            {when.parents.length ? (
              <ul className="flex flex-wrap gap-1.5" aria-label="Followed schedules">
                {when.parents.map((parent) => (
                  <li key={parent} className="flex items-center gap-1 rounded border bg-surface py-0.5 pl-2 pr-1">
                    {names[parent] ?? parent}
                    <button
                      type="button"
                      aria-label={`Do not follow ${names[parent] ?? parent}`}
                      onClick={() => set({ parents: when.parents.filter((other) => other !== parent) })}
                      className="rounded p-0.5 text-muted hover:text-ink"
                    >
                      <X size={13} aria-hidden />
                    </button>
                  </li>
                ))}
              </ul>
            ) : null}
            <input
              {...wired}
              list={`${wired.id}-schedules`}
              value={text}
              onChange={(event) => {
                const value = event.target.value;
                // Browsers report a choice from the list as an input of the whole text.
                if (data?.items.some((schedule) => schedule.name === value) && value.length > text.length + 1)
                  add(value);
                else setText(value);
              }}
              onKeyDown={(event) => {
                if (event.key !== "Enter") return;
                event.preventDefault();
                add(text.trim());
              }}
              onBlur={() => add(text.trim())}
              autoComplete="off"
              maxLength={200}
              placeholder="Name of a schedule"
              className={INPUT}
            />
            <datalist id={`${wired.id}-schedules`}>
              {data?.items.map((schedule) => (
                <option key={schedule.id} value={schedule.name} />
              ))}
            </datalist>
          </div>
        )}
      </Field>
      <Field name="after.outcome" label="When its run">
        {(wired) => (
          <select
            {...wired}
            value={when.outcome}
            onChange={(event) => set({ outcome: event.target.value as TriggerInputs["outcome"] })}
            className="h-8 max-w-64 rounded border bg-bg px-2"
          >
            {OUTCOMES.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {when.parents.length > 1 ? (
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={when.all} onChange={(event) => set({ all: event.target.checked })} />
          Wait for one run of each
        </label>
      ) : null}
    </>
  );
}
