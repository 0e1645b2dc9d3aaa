import type { ReactNode } from "react";

import { cx } from "@/parts/cx";

import {
  type CronFields,
  cronOf,
  DEFAULT_FIELDS,
  fieldsOf,
  FREQUENCIES,
  type Frequency,
  HOURS,
  MINUTES,
  WEEK,
  WEEKDAYS,
} from "./cronFields";

const SELECT = "h-8 rounded border bg-bg px-2";
const two = (value: number): string => String(value).padStart(2, "0");

/** Builds a cron expression from selects. An expression that they cannot represent stays "custom", unchanged. */
export function CronBuilder({ cron, onChange }: { cron: string; onChange: (cron: string) => void }) {
  const fields = fieldsOf(cron);
  const turn = (change: Partial<CronFields>): void => onChange(cronOf({ ...fields, ...change }));
  const often = (next: Frequency): void => {
    if (next === "custom") return;
    const days = next === "weekly" ? (fields.days.length ? fields.days : [1, 2, 3, 4, 5]) : [];
    const every = next === "minutes" ? 15 : next === "hours" ? 4 : fields.every;
    const [hour, minute] =
      fields.often === "custom" ? [DEFAULT_FIELDS.hour, DEFAULT_FIELDS.minute] : [fields.hour, fields.minute];
    onChange(cronOf({ ...fields, often: next, every, days, hour, minute, between: null }));
  };
  const timed = ["daily", "weekly", "monthly", "nth"].includes(fields.often);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Choice label="How often" value={fields.often} onChange={(value) => often(value as Frequency)}>
        {FREQUENCIES.filter((frequency) => frequency.value !== "custom" || fields.often === "custom").map(
          (frequency) => (
            <option key={frequency.value} value={frequency.value}>
              {frequency.label}
            </option>
          ),
        )}
      </Choice>
      {fields.often === "minutes" ? (
        <Choice label="Minutes" value={fields.every} onChange={(value) => turn({ every: Number(value) })}>
          {MINUTES.map((one) => (
            <option key={one} value={one}>
              {one === 1 ? "every minute" : `every ${one} minutes`}
            </option>
          ))}
        </Choice>
      ) : null}
      {fields.often === "hours" ? (
        <Choice label="Hours" value={fields.every} onChange={(value) => turn({ every: Number(value) })}>
          {HOURS.map((hour) => (
            <option key={hour} value={hour}>
              every {hour} hours
            </option>
          ))}
        </Choice>
      ) : null}
      {fields.often === "hourly" || fields.often === "hours" ? (
        <>
          <span className="text-muted">at minute</span>
          <Choice label="Minute" value={fields.minute} onChange={(value) => turn({ minute: Number(value) })}>
            {Array.from({ length: 60 }, (_, minute) => (
              <option key={minute} value={minute}>
                {two(minute)}
              </option>
            ))}
          </Choice>
        </>
      ) : null}
      {fields.often === "nth" ? (
        <>
          <Choice label="Which" value={fields.nth} onChange={(value) => turn({ nth: Number(value) })}>
            {[
              [1, "first"],
              [2, "second"],
              [3, "third"],
              [4, "fourth"],
              [-1, "last"],
            ].map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Choice>
          <Choice label="Weekday" value={fields.weekday} onChange={(value) => turn({ weekday: Number(value) })}>
            {WEEK.map((day) => (
              <option key={day} value={day}>
                {WEEKDAYS[day]}
              </option>
            ))}
          </Choice>
        </>
      ) : null}
      {fields.often === "monthly" ? (
        <Choice
          label="Day of the month"
          value={fields.monthday}
          onChange={(value) => turn({ monthday: Number(value) })}
        >
          {Array.from({ length: 31 }, (_, index) => (
            <option key={index + 1} value={index + 1}>
              day {index + 1}
            </option>
          ))}
          <option value={-1}>last day</option>
        </Choice>
      ) : null}
      {timed ? (
        <>
          <span className="text-muted">at</span>
          <span className="flex items-center gap-1">
            <Choice label="Hour" value={fields.hour} onChange={(value) => turn({ hour: Number(value) })}>
              {Array.from({ length: 24 }, (_, hour) => (
                <option key={hour} value={hour}>
                  {two(hour)}
                </option>
              ))}
            </Choice>
            :
            <Choice label="Minute" value={fields.minute} onChange={(value) => turn({ minute: Number(value) })}>
              {Array.from({ length: 60 }, (_, minute) => (
                <option key={minute} value={minute}>
                  {two(minute)}
                </option>
              ))}
            </Choice>
          </span>
        </>
      ) : null}
      {fields.often === "weekly" || fields.often === "minutes" || fields.often === "hourly" ? (
        <Days days={fields.days} all={fields.often !== "weekly"} onChange={(days) => turn({ days })} />
      ) : null}
      {fields.often === "minutes" || fields.often === "hourly" ? (
        <Window between={fields.between} onChange={(between) => turn({ between })} />
      ) : null}
    </div>
  );
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string | number;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)} className={SELECT}>
      {children}
    </select>
  );
}

function Days({ days, all, onChange }: { days: readonly number[]; all: boolean; onChange: (days: number[]) => void }) {
  const shown = all && days.length === 0 ? [...WEEK] : days;
  const toggle = (day: number): void => {
    const next = shown.includes(day) ? shown.filter((one) => one !== day) : [...shown, day];
    if (next.length) onChange(all && next.length === 7 ? [] : [...next]);
  };
  return (
    <div role="group" aria-label="Days" className="flex overflow-hidden rounded border">
      {WEEK.map((day) => (
        <button
          key={day}
          type="button"
          aria-pressed={shown.includes(day)}
          onClick={() => toggle(day)}
          className={cx(
            "h-7.5 w-8 border-r text-xs last:border-r-0",
            shown.includes(day) ? "bg-accent-tint font-medium" : "text-muted hover:bg-surface",
          )}
        >
          <span aria-hidden>{WEEKDAYS[day]?.slice(0, 2)}</span>
          <span className="sr-only">{WEEKDAYS[day]}</span>
        </button>
      ))}
    </div>
  );
}

function Window({
  between,
  onChange,
}: {
  between: [number, number] | null;
  onChange: (between: [number, number] | null) => void;
}) {
  return (
    <div className="flex items-center gap-2">
      <label className="flex items-center gap-1.5">
        <input
          type="checkbox"
          checked={between !== null}
          onChange={(event) => onChange(event.target.checked ? [9, 17] : null)}
          className="size-3.5 accent-accent"
        />
        only between
      </label>
      {between ? (
        <>
          <Choice
            label="From"
            value={between[0]}
            onChange={(value) => onChange([Number(value), Math.max(between[1], Number(value) + 1)])}
          >
            {Array.from({ length: 23 }, (_, hour) => (
              <option key={hour} value={hour}>
                {two(hour)}:00
              </option>
            ))}
          </Choice>
          <span className="text-muted">and</span>
          <Choice
            label="To"
            value={between[1]}
            onChange={(value) => onChange([Math.min(between[0], Number(value) - 1), Number(value)])}
          >
            {Array.from({ length: 23 }, (_, hour) => (
              <option key={hour + 1} value={hour + 1}>
                {two(hour + 1)}:00
              </option>
            ))}
          </Choice>
        </>
      ) : null}
    </div>
  );
}
