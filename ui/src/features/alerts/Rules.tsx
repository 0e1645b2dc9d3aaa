import { useQuery } from "@tanstack/react-query";
import { ListChecks } from "lucide-react";
import { useState } from "react";

import { ask, send } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AlertEvent, AlertRule, AlertRuleRequest } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm, Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Field, INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";
import { useDebounced } from "@/parts/useDebounced";
import { number } from "@/time/moment";

import { threshold } from "./kinds";

const EVENTS: [AlertEvent, string][] = [
  ["failed", "Failed"],
  ["dead_letter", "Dead letter"],
  ["late", "Late"],
  ["missed", "Missed"],
  ["degraded", "Partly failed"],
  ["recovered", "Recovered"],
  ["finished", "Every run"],
  ["queue_stuck", "Queue stuck"],
  ["worker_lost", "Worker lost"],
];

/** The rules that open alerts. */
export function Rules() {
  const may = usePermission("write:alert_rule");
  const rules = useQuery({
    queryKey: queryKeys.alertRules,
    queryFn: ({ signal }) => ask("/api/alert-rules", { signal }),
  });
  const channels = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
  });
  const names = Object.fromEntries((channels.data?.items ?? []).map((channel) => [channel.id, channel.name]));
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<AlertRule | null>(null);
  const [act] = useCommand();
  const add = may ? (
    <Button acts size="small" kind="primary" onClick={() => setAdding(true)}>
      Add rule
    </Button>
  ) : null;
  return (
    <Card title="Rules" flush aside={add}>
      {rules.error ? (
        <div className="p-4">
          <ErrorCard error={rules.error} what="Could not load rules" onRetry={() => void rules.refetch()} />
        </div>
      ) : rules.isPending ? (
        <SkeletonRows rows={3} />
      ) : rules.data.items.length ? (
        <ul className="divide-y">
          {rules.data.items.map((rule) => (
            <li key={rule.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
              <span className="font-medium">{rule.name}</span>
              <span className="min-w-0 text-muted">
                {rule.on.join(", ").replaceAll("_", " ")} · {threshold(rule.after)}
                {rule.filter ? ` · ${rule.filter}` : " · all schedules"} →{" "}
                {rule.to.map((id) => names[id] ?? id).join(", ") || "no channel"}
              </span>
              {may && !rule.schedule_id ? (
                <span className="ml-auto flex gap-2">
                  <Button
                    acts
                    size="small"
                    onClick={() =>
                      void act(
                        "PATCH",
                        "/api/alert-rules/{rule_id}",
                        { params: { rule_id: rule.id }, body: { enabled: !rule.enabled } },
                        rule.enabled ? "Rule turned off" : "Rule turned on",
                      )
                    }
                  >
                    {rule.enabled ? "Turn off" : "Turn on"}
                  </Button>
                  <Button acts size="small" kind="danger" onClick={() => setDeleting(rule)}>
                    Delete…
                  </Button>
                </span>
              ) : null}
            </li>
          ))}
        </ul>
      ) : (
        <Empty icon={ListChecks} title="No rules" actions={add}>
          A rule decides which problems open an alert and which channels are notified.
        </Empty>
      )}
      <Modal open={adding} onClose={() => setAdding(false)} title="Add rule" wide>
        {adding ? <RuleForm channels={channels.data?.items ?? []} onClose={() => setAdding(false)} /> : null}
      </Modal>
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        danger
        title={`Delete ${deleting?.name ?? ""}?`}
        action="Delete"
        onConfirm={() =>
          act("DELETE", "/api/alert-rules/{rule_id}", { params: { rule_id: deleting?.id ?? "" } }, "Deleted")
        }
      >
        Its open alerts will be resolved without a notification.
      </Confirm>
    </Card>
  );
}

function RuleForm({ channels, onClose }: { channels: { id: string; name: string }[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [on, setOn] = useState<AlertEvent[]>(["failed", "missed"]);
  const [filter, setFilter] = useState("");
  const [inARow, setInARow] = useState(3);
  const [remind, setRemind] = useState("");
  const [critical, setCritical] = useState(false);
  const [to, setTo] = useState<string[]>(channels.map((channel) => channel.id));
  const [act, busy] = useCommand();
  const rule: AlertRuleRequest = {
    name,
    on,
    filter,
    after: { in_a_row: inARow },
    remind_every: remind || null,
    severity: critical ? "critical" : "warning",
    to,
  };
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void act("POST", "/api/alert-rules", { body: rule }, `Added ${name}`).then((made) => made && onClose());
      }}
    >
      <Field name="name" label="Name">
        {(wired) => (
          <input {...wired} required className={INPUT} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <Choices legend="Open an alert when a schedule" all={EVENTS} chosen={on} onChange={setOn} />
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Field
          name="filter"
          label="Only schedules that match"
          hint="Leave empty for all. Example: tag:prices, name:nightly"
        >
          {(wired) => (
            <input {...wired} className={INPUT} value={filter} onChange={(event) => setFilter(event.target.value)} />
          )}
        </Field>
        <Field name="after" label="Failures in a row">
          {(wired) => (
            <input
              {...wired}
              type="number"
              min={1}
              max={100}
              className={INPUT}
              value={inARow}
              onChange={(event) => setInARow(Number(event.target.value) || 1)}
            />
          )}
        </Field>
        <Field name="remind_every" label="Remind every (optional)" hint="For example 24h.">
          {(wired) => (
            <input {...wired} className={INPUT} value={remind} onChange={(event) => setRemind(event.target.value)} />
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
      <Preview rule={rule} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy} acts disabled={!on.length}>
          Add rule
        </Button>
      </div>
    </form>
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
    </div>
  );
}
