import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useContext } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { RetrySettings } from "@/api/schema";
import { cx } from "@/parts/cx";
import { Field, INPUT } from "@/parts/form/Field";
import { FieldErrorsContext } from "@/parts/form/fieldErrors";
import { duration } from "@/time/moment";

import { LIMITS } from "../limits";
import { CATCHUPS, type Choice, OVERLAPS } from "../policies";
import { RetryTimeline } from "../RetryTimeline";
import { AlertFields, alertSays } from "./AlertFields";
import type { Form } from "./form";
import { TimesFields, timesSay } from "./TimesFields";

type Change = (change: Partial<Form>) => void;

/** The policies of a schedule. The common ones are open, the others folded with a summary. */
export function PolicySection({ form, onChange }: { form: Form; onChange: Change }) {
  return (
    <div className="flex flex-col gap-4">
      <Radios
        name="overlap"
        label="If the previous run is still active"
        choices={OVERLAPS}
        value={form.overlap}
        onChange={(overlap) => onChange({ overlap: overlap as Form["overlap"] })}
      />
      <Radios
        name="catchup.mode"
        label="If the scheduler was down"
        choices={CATCHUPS}
        value={form.catchup.mode}
        onChange={(mode) => onChange({ catchup: { ...form.catchup, mode: mode as Form["catchup"]["mode"] } })}
      />
      <p className="-mt-3 text-xs text-muted">
        A run up to {form.catchup.grace_seconds ?? 60} seconds late counts as on time and always runs.
      </p>
      <div className="divide-y rounded-lg border">
        <Fold title="Retries" says={retrySays(form.retry)} fields={["retry_policy"]}>
          <Retry policy={form.retry} onChange={(retry) => onChange({ retry })} />
        </Fold>
        <Fold
          title="Queue and priority"
          says={`${form.queue} · ${form.priority} (${band(form.priority)})`}
          fields={["queue", "priority"]}
        >
          <QueueFields form={form} onChange={onChange} />
        </Fold>
        <Fold
          title="Limits"
          says={limitSays(form)}
          fields={[...LIMITS.map(({ name }) => name), "start_at", "end_at", "catchup.window_seconds"]}
        >
          <Limits form={form} onChange={onChange} />
        </Fold>
        {form.when.type === "after" ? null : (
          <Fold title="Times without runs" says={timesSay(form)} fields={["exclude", "only", "shift"]}>
            <TimesFields form={form} onChange={onChange} />
          </Fold>
        )}
        <Fold title="Notifications" says={alertSays(form.alert)} fields={["alert"]}>
          <AlertFields alert={form.alert} onChange={(alert) => onChange({ alert })} />
        </Fold>
      </div>
    </div>
  );
}

const band = (priority: number): string => (priority <= 3 ? "high" : priority <= 7 ? "medium" : "low");

const retrySays = (policy: RetrySettings): string =>
  policy.max_retries
    ? `${policy.max_retries + 1} attempts, ${policy.strategy} from ${duration(policy.delay_seconds * 1000)}`
    : "one attempt";

function limitSays(form: Form): string {
  const parts = [
    ...LIMITS.map(({ name, summary }) => form.limits[name] && summary(form.limits[name])),
    form.startAt && "with a start date",
    form.endAt && "with an end date",
  ];
  return parts.filter(Boolean).join(" · ") || "none";
}

function Radios({
  name,
  label,
  choices,
  value,
  onChange,
}: {
  name: string;
  label: string;
  choices: readonly Choice[];
  value: string;
  onChange: (value: string) => void;
}) {
  const chosen = choices.find((choice) => choice.value === value);
  return (
    <Field
      name={name}
      label={label}
      hint={chosen ? `${chosen.says.charAt(0).toUpperCase()}${chosen.says.slice(1)}.` : undefined}
    >
      {(wired) => (
        <div
          id={wired.id}
          role="radiogroup"
          aria-label={label}
          className="flex flex-wrap self-start overflow-hidden rounded border"
        >
          {choices.map((choice) => (
            <button
              key={choice.value}
              type="button"
              role="radio"
              aria-checked={choice.value === value}
              title={choice.says}
              onClick={() => onChange(choice.value)}
              className={cx(
                "h-8 border-r px-3 last:border-r-0",
                choice.value === value ? "bg-accent-tint font-medium" : "text-muted hover:bg-surface",
              )}
            >
              {choice.label}
            </button>
          ))}
        </div>
      )}
    </Field>
  );
}

function Fold({
  title,
  says,
  fields,
  children,
}: {
  title: string;
  says: string;
  fields: readonly string[];
  children: ReactNode;
}) {
  const fieldErrors = useContext(FieldErrorsContext);
  const wrong = fields.some((field) => fieldErrors.about(field).length > 0);
  return (
    <details open={wrong || undefined} className="group">
      <summary className="flex list-none items-center gap-2 px-3 py-2 hover:bg-surface">
        <ChevronRight size={14} className="shrink-0 text-muted group-open:rotate-90" aria-hidden />
        <span className="font-medium">{title}</span>
        <span className="truncate text-muted">{says}</span>
      </summary>
      <div className="flex flex-col gap-3 px-3 pt-1 pb-3">{children}</div>
    </details>
  );
}

function Retry({ policy, onChange }: { policy: RetrySettings; onChange: (policy: RetrySettings) => void }) {
  const set = (change: Partial<RetrySettings>): void => onChange({ ...policy, ...change });
  return (
    <>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        <Number
          name="retry_policy.max_retries"
          label="Retries"
          value={policy.max_retries}
          min={0}
          max={100}
          onChange={(max_retries) => set({ max_retries })}
        />
        <Field name="retry_policy.strategy" label="Backoff">
          {(wired) => (
            <select
              {...wired}
              value={policy.strategy}
              onChange={(event) => set({ strategy: event.target.value as RetrySettings["strategy"] })}
              className={INPUT}
            >
              {["exponential", "linear", "fixed"].map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <Number
          name="retry_policy.delay_seconds"
          label="First delay (s)"
          value={policy.delay_seconds}
          min={0}
          onChange={(delay_seconds) => set({ delay_seconds })}
        />
        <Number
          name="retry_policy.max_delay_seconds"
          label="Maximum delay (s)"
          value={policy.max_delay_seconds}
          min={0}
          onChange={(max_delay_seconds) => set({ max_delay_seconds })}
        />
      </div>
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          checked={policy.dead_letter}
          onChange={(event) => set({ dead_letter: event.target.checked })}
          className="size-3.5 accent-accent"
        />
        Keep failed runs as dead letters, so they can be replayed
      </label>
      <RetryTimeline policy={policy} />
    </>
  );
}

function QueueFields({ form, onChange }: { form: Form; onChange: Change }) {
  const { data } = useQuery({
    queryKey: queryKeys.queues,
    queryFn: ({ signal }) => ask("/api/queues", { signal }),
    staleTime: 30_000,
    retry: false,
  });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field name="queue" label="Queue" hint="Needs a worker that serves it.">
        {(wired) => (
          <>
            <input
              {...wired}
              list="queues"
              value={form.queue}
              onChange={(event) => onChange({ queue: event.target.value })}
              autoComplete="off"
              className={INPUT}
            />
            <datalist id="queues">
              {data?.items.map((item) => (
                <option key={item.name} value={item.name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field name="priority" label="Priority" hint="1 is the most urgent.">
        {(wired) => (
          <select
            {...wired}
            value={form.priority}
            onChange={(event) => onChange({ priority: globalThis.Number(event.target.value) })}
            className={INPUT}
          >
            {Array.from({ length: 10 }, (_, index) => (
              <option key={index + 1} value={index + 1}>
                {index + 1} – {band(index + 1)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}

function Limits({ form, onChange }: { form: Form; onChange: Change }) {
  const text = ({ name, label, hint }: (typeof LIMITS)[number]): ReactNode => (
    <Field key={name} name={name} label={label} hint={hint}>
      {(wired) => (
        <input
          {...wired}
          inputMode="numeric"
          value={form.limits[name]}
          onChange={(event) => onChange({ limits: { ...form.limits, [name]: event.target.value } })}
          className={INPUT}
        />
      )}
    </Field>
  );
  const moment = (name: string, key: "startAt" | "endAt", label: string): ReactNode => (
    <Field name={name} label={`${label} (${form.timezone})`}>
      {(wired) => (
        <input
          {...wired}
          type="datetime-local"
          value={form[key]}
          onChange={(event) => onChange({ [key]: event.target.value })}
          className={INPUT}
        />
      )}
    </Field>
  );
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {LIMITS.map(text)}
      {moment("start_at", "startAt", "Not before")}
      {moment("end_at", "endAt", "Not after")}
      <Number
        name="catchup.window_seconds"
        label="Catch-up window (s)"
        value={form.catchup.window_seconds}
        min={0}
        onChange={(window_seconds) => onChange({ catchup: { ...form.catchup, window_seconds } })}
      />
    </div>
  );
}

function Number({
  name,
  label,
  value,
  min,
  max,
  onChange,
}: {
  name: string;
  label: string;
  value: number;
  min?: number;
  max?: number;
  onChange: (value: number) => void;
}) {
  return (
    <Field name={name} label={label}>
      {(wired) => (
        <input
          {...wired}
          type="number"
          min={min}
          max={max}
          value={value}
          onChange={(event) => onChange(event.target.valueAsNumber || 0)}
          className={INPUT}
        />
      )}
    </Field>
  );
}
