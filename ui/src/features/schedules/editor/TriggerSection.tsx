import { cx } from "@/parts/cx";
import { Field, INPUT } from "@/parts/form/Field";
import { inputOf } from "@/time/datetimeLocal";
import { browserZone } from "@/time/zone";

import type { TriggerPreview } from "../preview/usePreview";
import { CronBuilder } from "./CronBuilder";
import { fieldsOf, phraseOf, secondsOf, unitOf } from "./cronFields";
import { FollowFields } from "./FollowFields";
import { type Form, type TriggerInputs, type Type } from "./form";
import { ZoneField } from "./ZoneField";

const TYPES: readonly { value: Type; label: string }[] = [
  { value: "cron", label: "Calendar" },
  { value: "interval", label: "Interval" },
  { value: "oneoff", label: "Once" },
  { value: "after", label: "After others" },
];

/** The trigger: as natural language, with the cron builder or as cron; each updates the others. */
export function TriggerSection({
  form,
  preview,
  onChange,
  onZone,
}: {
  form: Form;
  preview: TriggerPreview;
  onChange: (when: Partial<TriggerInputs>) => void;
  onZone: (zone: string) => void;
}) {
  const { when, timezone } = form;
  const setCron = (cron: string): void =>
    onChange({ type: "cron", cron, words: phraseOf(fieldsOf(cron)), by: "trigger" });
  const setWords = (words: string): void => onChange(words.trim() ? { words, by: "words" } : { words, by: "trigger" });
  const setType = (type: Type): void =>
    onChange({
      type,
      by: "trigger",
      words: type === "cron" ? phraseOf(fieldsOf(when.cron)) : "",
      runAt: when.runAt || inputOf(new Date(Date.now() + 3_600_000).toISOString(), timezone).slice(0, 16),
    });
  const { number, unit } = unitOf(when.seconds);
  return (
    <div className="flex flex-col gap-4">
      <Field
        name="words"
        label="When (plain English)"
        value={when.words}
        onSuggest={setWords}
        more={when.by === "words" ? preview.complaints("words") : []}
        hint="every 10 minutes · weekdays at 9 · first monday of the month at 8:00 · in 10 minutes"
      >
        {(wired) => (
          <input
            {...wired}
            value={when.words}
            onChange={(event) => setWords(event.target.value)}
            placeholder="every day at 02:30"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            className={INPUT}
          />
        )}
      </Field>
      <div role="radiogroup" aria-label="Trigger type" className="flex self-start overflow-hidden rounded border">
        {TYPES.map((choice) => (
          <button
            key={choice.value}
            type="button"
            role="radio"
            aria-checked={when.type === choice.value}
            onClick={() => setType(choice.value)}
            className={cx(
              "h-8 border-r px-3 last:border-r-0",
              when.type === choice.value ? "bg-accent-tint font-medium" : "text-muted hover:bg-surface",
            )}
          >
            {choice.label}
          </button>
        ))}
      </div>
      {when.type === "cron" ? (
        <>
          <CronBuilder cron={when.cron} onChange={setCron} />
          <Field
            name="cron_expr"
            label="Cron"
            value={when.cron}
            onSuggest={setCron}
            more={when.by === "trigger" ? preview.complaints("cron_expr") : []}
          >
            {(wired) => (
              <input
                {...wired}
                value={when.cron}
                onChange={(event) => setCron(event.target.value)}
                autoComplete="off"
                spellCheck={false}
                className={`${INPUT} font-mono text-xs`}
              />
            )}
          </Field>
        </>
      ) : null}
      {when.type === "interval" ? (
        <Field
          name="interval_seconds"
          label="Every"
          more={preview.complaints("interval_seconds")}
          hint="Counted from when you save, independent of clock time."
        >
          {(wired) => (
            <div className="flex gap-2">
              <input
                {...wired}
                type="number"
                min={1}
                value={number || ""}
                onChange={(event) =>
                  onChange({ seconds: secondsOf(Number(event.target.value), unit), by: "trigger", words: "" })
                }
                className={`${INPUT} max-w-28`}
              />
              <select
                aria-label="Unit"
                value={unit}
                onChange={(event) =>
                  onChange({ seconds: secondsOf(number, event.target.value), by: "trigger", words: "" })
                }
                className="h-8 rounded border bg-bg px-2"
              >
                {["seconds", "minutes", "hours", "days"].map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </select>
            </div>
          )}
        </Field>
      ) : null}
      {when.type === "oneoff" ? (
        <Field name="run_at" label={`At (${timezone})`} more={preview.complaints("run_at")}>
          {(wired) => (
            <input
              {...wired}
              type="datetime-local"
              step={1}
              value={when.runAt}
              onChange={(event) => onChange({ runAt: event.target.value, by: "trigger", words: "" })}
              className={`${INPUT} max-w-64`}
            />
          )}
        </Field>
      ) : null}
      {when.type === "after" ? (
        <FollowFields when={when} preview={preview} onChange={onChange} />
      ) : (
        <ZoneField
          value={timezone}
          onChange={onZone}
          hint={timezone === browserZone() ? "From your browser." : undefined}
        />
      )}
    </div>
  );
}
