import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { Field, INPUT } from "@/parts/form/Field";
import { Link } from "@/parts/Link";

import { calendarsIn, withCalendar } from "../times";
import type { Form } from "./form";

export const SHIFTS = [
  { value: "none", label: "Leave them out" },
  { value: "next_business_day", label: "Move to the next business day" },
  { value: "previous_business_day", label: "Move to the previous business day" },
] as const;

/** "calendar:SE · 22:00-06:00 · moved to the next business day". */
export function timesSay(form: Form): string {
  const shift = SHIFTS.find((one) => one.value === form.shift);
  const parts = [
    ...form.exclude.split("\n").filter((line) => line.trim()),
    form.only.trim() && "only at some times",
    form.shift !== "none" && shift?.label.toLowerCase(),
  ];
  return parts.filter(Boolean).join(" · ") || "none";
}

/** Calendars, dates and times of day at which the schedule does not run. */
export function TimesFields({ form, onChange }: { form: Form; onChange: (change: Partial<Form>) => void }) {
  const { data } = useQuery({
    queryKey: queryKeys.calendars,
    queryFn: ({ signal }) => ask("/api/calendars", { query: { limit: 500 }, signal }),
    staleTime: 30_000,
    retry: false,
  });
  const named = calendarsIn(form.exclude);
  const known = (data?.items ?? []).map((calendar) => calendar.name);
  const names = [...known, ...named.filter((name) => !known.includes(name))];
  return (
    <>
      {names.length ? (
        <div role="group" aria-label="Calendars" className="flex flex-wrap gap-x-4 gap-y-1.5">
          {names.map((name) => (
            <label key={name} className="flex items-center gap-1.5">
              <input
                type="checkbox"
                className="size-3.5 accent-accent"
                checked={named.includes(name)}
                onChange={(event) => onChange({ exclude: withCalendar(form.exclude, name, event.target.checked) })}
              />
              {name}
            </label>
          ))}
        </div>
      ) : (
        <p className="text-muted">
          No calendars yet. Add one with public holidays under <Link to="/settings/calendars">Settings</Link>.
        </p>
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <Lines
          name="exclude"
          label="Not at these times, one per line"
          value={form.exclude}
          onChange={(exclude) => onChange({ exclude })}
        />
        <Lines
          name="only"
          label="Only at these times, one per line"
          value={form.only}
          onChange={(only) => onChange({ only })}
        />
      </div>
      <Field name="shift" label="Times on a weekend or an excluded day" className="max-w-80">
        {(wired) => (
          <select
            {...wired}
            value={form.shift}
            onChange={(event) => onChange({ shift: event.target.value as Form["shift"] })}
            className={INPUT}
          >
            {SHIFTS.map((one) => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}

function Lines({
  name,
  label,
  value,
  onChange,
}: {
  name: string;
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field name={name} label={label} hint="2027-01-01/2027-01-06, 22:00-06:00, sat,sun or sat,sun 09:00-17:00">
      {(wired) => (
        <textarea
          {...wired}
          rows={3}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          spellCheck={false}
          className={`${INPUT} h-auto py-1.5 font-mono`}
        />
      )}
    </Field>
  );
}
