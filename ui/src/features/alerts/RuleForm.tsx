import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { send } from "@/api/client";
import type { AlertEvent, AlertRule, AlertRuleRequest } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Field, INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { useCommand } from "@/parts/useCommand";
import { useDebounced } from "@/parts/useDebounced";
import { useZone } from "@/prefs";
import { number } from "@/time/moment";

import { thresholdOf, thresholdText } from "./kinds";

const EVENTS: [AlertEvent, string][] = [
  ["failed", "Failed"],
  ["dead_letter", "Dead letter"],
  ["late", "Late"],
  ["missed", "Missed"],
  ["slow", "Slow"],
  ["degraded", "Partly failed"],
  ["changed", "Page changed"],
  ["recovered", "Recovered"],
  ["finished", "Every run"],
  ["queue_stuck", "Queue stuck"],
  ["worker_lost", "Worker lost"],
];

/** Creates a rule, or changes one. */
export function RuleForm({
  rule,
  channels,
  onClose,
}: {
  rule?: AlertRule;
  channels: { id: string; name: string }[];
  onClose: () => void;
}) {
  const zone = useZone();
  const [name, setName] = useState(rule?.name ?? "");
  const [on, setOn] = useState<AlertEvent[]>(rule?.on ?? ["failed", "missed"]);
  const [filter, setFilter] = useState(rule?.filter ?? "");
  const [after, setAfter] = useState(rule ? thresholdText(rule.after) : "3");
  const [late, setLate] = useState(rule?.late_after ?? "5m");
  const [slow, setSlow] = useState(rule?.slow_after ?? "1h");
  const [remind, setRemind] = useState(rule?.remind_every ?? "");
  const [from, setFrom] = useState(rule?.quiet?.from ?? "");
  const [until, setUntil] = useState(rule?.quiet?.to ?? "");
  const [critical, setCritical] = useState(rule?.severity === "critical");
  const [to, setTo] = useState<string[]>(rule?.to ?? channels.map((channel) => channel.id));
  const [act, busy] = useCommand();
  const quiet = from || until ? { from, to: until, timezone: rule?.quiet?.timezone ?? zone } : null;
  const body: AlertRuleRequest = {
    name,
    on,
    filter,
    after: thresholdOf(after),
    late_after: late || "1m",
    slow_after: on.includes("slow") ? slow : null,
    remind_every: remind || null,
    quiet,
    severity: critical ? "critical" : "warning",
    to,
  };
  const save = async (): Promise<void> => {
    const made = rule
      ? await act("PATCH", "/api/alert-rules/{rule_id}", { params: { rule_id: rule.id }, body }, `Saved ${name}`)
      : await act("POST", "/api/alert-rules", { body }, `Added ${name}`);
    if (made) onClose();
  };
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field name="name" label="Name">
        {(wired) => (
          <input {...wired} required className={INPUT} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <Choices legend="Open an alert when a schedule" all={EVENTS} chosen={on} onChange={setOn} />
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Text
          name="filter"
          label="Only schedules that match"
          hint="Leave empty for all. Example: tag:prices, name:nightly"
          value={filter}
          onChange={setFilter}
        />
        <Text
          name="after"
          label="After failures"
          hint="“3” means three in a row, “5 within 1h” five in an hour."
          value={after}
          onChange={setAfter}
        />
        <Text
          name="remind_every"
          label="Remind every (optional)"
          hint="For example 24h."
          value={remind}
          onChange={setRemind}
        />
        {on.includes("late") ? (
          <Text name="late_after" label="Late after" hint="How long overdue: 5m, 1h." value={late} onChange={setLate} />
        ) : null}
        {on.includes("slow") ? (
          <Text name="slow_after" label="Slow after" hint="How long a run may take." value={slow} onChange={setSlow} />
        ) : null}
        <Field name="quiet" label="Quiet hours (optional)" hint={`In ${quiet?.timezone ?? zone}; nothing is sent.`}>
          {(wired) => (
            <span className="flex items-center gap-2">
              <input
                {...wired}
                type="time"
                aria-label="Quiet from"
                className={INPUT}
                value={from}
                onChange={(event) => setFrom(event.target.value)}
              />
              <input
                type="time"
                aria-label="Quiet until"
                className={INPUT}
                value={until}
                onChange={(event) => setUntil(event.target.value)}
              />
            </span>
          )}
        </Field>
      </div>
      <Choices
        legend={channels.length ? "Notify" : "No channels yet: alerts will only appear here"}
        all={channels.map((channel) => [channel.id, channel.name])}
        chosen={to}
        onChange={setTo}
      />
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={critical} onChange={(event) => setCritical(event.target.checked)} />
        Critical
      </label>
      <Preview rule={body} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy} acts disabled={!on.length}>
          {rule ? "Save" : "Add rule"}
        </Button>
      </div>
    </form>
  );
}

function Text({
  name,
  label,
  hint,
  value,
  onChange,
}: {
  name: string;
  label: string;
  hint: string;
  value: string;
  onChange: (text: string) => void;
}) {
  return (
    <Field name={name} label={label} hint={hint}>
      {(wired) => (
        <input {...wired} className={INPUT} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  );
}

function Choices<T extends string>({
  legend,
  all,
  chosen,
  onChange,
}: {
  legend: string;
  all: [T, string][];
  chosen: T[];
  onChange: (chosen: T[]) => void;
}) {
  return (
    <fieldset className="flex flex-wrap gap-x-4 gap-y-1.5">
      <legend className="mb-1 text-xs font-medium text-muted">{legend}</legend>
      {all.map(([id, label]) => (
        <label key={id} className="flex items-center gap-1.5">
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
            }
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

/** What the rule would have reported over the last 7 days. */
function Preview({ rule }: { rule: AlertRuleRequest }) {
  const body = useDebounced({ ...rule, name: undefined }, 300);
  const preview = useQuery({
    queryKey: ["preview", "alert-rule", body],
    queryFn: ({ signal }) => send("POST", "/api/alert-rules/preview", { body, signal }),
    enabled: body.on.length > 0,
    retry: false,
  });
  if (!preview.data) return null;
  return (
    <div className="rounded border p-3 text-xs" aria-live="polite">
      <p className="font-medium">
        {preview.data.total
          ? `It would have sent ${number(preview.data.total)} messages in the last 7 days`
          : "It would have sent nothing in the last 7 days"}
      </p>
      <ul className="mt-1 text-muted">
        {preview.data.items.slice(0, 5).map((item) => (
          <li key={`${item.at} ${item.subject.id} ${item.event}`}>
            <Instant at={item.at} /> {item.would_say}
          </li>
        ))}
      </ul>
      {preview.data.unknown.length ? (
        <p className="mt-1 text-muted">
          Not included, because Foliot keeps no history of them: {preview.data.unknown.join(", ").replaceAll("_", " ")}
        </p>
      ) : null}
    </div>
  );
}
