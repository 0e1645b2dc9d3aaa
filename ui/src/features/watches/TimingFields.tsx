import { Field, INPUT } from "@/parts/form/Field";

import { type Timing, UNITS, type WatchForm } from "./form";

const TIMINGS: readonly (readonly [Timing, string])[] = [
  ["interval", "at regular intervals"],
  ["cron", "at the times of a cron expression"],
  ["revisit", "as often as pages change, within a budget"],
];

type Change = (values: Partial<WatchForm>) => void;

/** When the pages of a watch are visited. */
export function TimingFields({ form, onChange }: { form: WatchForm; onChange: Change }) {
  return (
    <div className="flex flex-col gap-3">
      <Field name="schedule" label="Pages are visited">
        {(wired) => (
          <select
            {...wired}
            className={INPUT}
            value={form.timing}
            onChange={(event) => onChange({ timing: event.target.value as Timing })}
          >
            {TIMINGS.map(([timing, label]) => (
              <option key={timing} value={timing}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {form.timing === "interval" ? (
        <Field name="schedule.interval_seconds" label="Every">
          {(wired) => (
            <div className="flex gap-2">
              <input
                {...wired}
                type="number"
                min={0.1}
                step="any"
                className={`${INPUT} max-w-28`}
                value={form.every || ""}
                onChange={(event) => onChange({ every: Number(event.target.value) })}
              />
              <select
                aria-label="Unit"
                value={form.unit}
                onChange={(event) => onChange({ unit: event.target.value as keyof typeof UNITS })}
                className="h-8 rounded border bg-bg px-2"
              >
                {Object.keys(UNITS).map((unit) => (
                  <option key={unit}>{unit}</option>
                ))}
              </select>
            </div>
          )}
        </Field>
      ) : null}
      {form.timing === "cron" ? (
        <div className="grid grid-cols-2 gap-3">
          <Field name="schedule.cron_expr" label="Cron expression" value={form.cron}>
            {(wired) => (
              <input
                {...wired}
                className={`${INPUT} font-mono text-xs`}
                value={form.cron}
                onChange={(event) => onChange({ cron: event.target.value })}
              />
            )}
          </Field>
          <Field name="schedule.timezone" label="Time zone">
            {(wired) => (
              <input
                {...wired}
                className={INPUT}
                value={form.timezone}
                onChange={(event) => onChange({ timezone: event.target.value })}
              />
            )}
          </Field>
        </div>
      ) : null}
      {form.timing === "revisit" ? <Revisits form={form} onChange={onChange} /> : null}
    </div>
  );
}

function Revisits({ form, onChange }: { form: WatchForm; onChange: Change }) {
  const text = (name: "budget" | "atMost" | "atLeast", field: string, label: string, hint: string) => (
    <Field name={`revisit.${field}`} label={label} hint={hint}>
      {(wired) => (
        <input
          {...wired}
          className={INPUT}
          value={form[name]}
          onChange={(event) => onChange({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {text("budget", "budget", "Budget", "For all pages together, such as 5000/day or 60/hour")}
      <Field name="revisit.aim" label="Goal" hint="How often each page changes is learned from its visits.">
        {(wired) => (
          <select
            {...wired}
            className={INPUT}
            value={form.aim}
            onChange={(event) => onChange({ aim: event.target.value as WatchForm["aim"] })}
          >
            <option value="prompt">notice changes early</option>
            <option value="fresh">keep stored versions up to date</option>
          </select>
        )}
      </Field>
      {text("atMost", "at_most", "Each page at most every", "Such as 15m or 1h")}
      {text("atLeast", "at_least", "Each page at least every", "Such as 7d")}
    </div>
  );
}
