import { useState } from "react";

import type { MonitorDetail, MonitorRequest } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Field, INPUT } from "@/parts/form/Field";
import { useCommand } from "@/parts/useCommand";

const UNITS = { minutes: 60, hours: 3600, days: 86_400 } as const;
type Unit = keyof typeof UNITS;

/** Creates a monitor. */
export function MonitorForm({ onClose }: { onClose: (made?: MonitorDetail) => void }) {
  const [name, setName] = useState("");
  const [type, setType] = useState<MonitorRequest["type"]>("interval");
  const [every, setEvery] = useState("1");
  const [unit, setUnit] = useState<Unit>("days");
  const [cron, setCron] = useState("0 2 * * *");
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [grace, setGrace] = useState("5");
  const [act, busy] = useCommand();
  const save = async (): Promise<void> => {
    const when =
      type === "cron" ? { cron_expr: cron, timezone } : { interval_seconds: Math.round(Number(every) * UNITS[unit]) };
    const body = { name, type, ...when, grace_seconds: Math.round(Number(grace) * 60) };
    const made = await act("POST", "/api/monitors", { body }, `Created ${name}`);
    if (made) onClose(made);
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
          <input
            {...wired}
            required
            className={INPUT}
            placeholder="Nightly backup"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field name="type" label="A ping is expected">
        {(wired) => (
          <select
            {...wired}
            className={INPUT}
            value={type}
            onChange={(event) => setType(event.target.value as MonitorRequest["type"])}
          >
            <option value="interval">at regular intervals</option>
            <option value="cron">at the times of a cron expression</option>
          </select>
        )}
      </Field>
      {type === "cron" ? (
        <div className="grid grid-cols-2 gap-3">
          <Field name="cron_expr" label="Cron expression">
            {(wired) => (
              <input
                {...wired}
                required
                className={`${INPUT} font-mono`}
                value={cron}
                onChange={(event) => setCron(event.target.value)}
              />
            )}
          </Field>
          <Field name="timezone" label="Time zone">
            {(wired) => (
              <input
                {...wired}
                className={INPUT}
                value={timezone}
                onChange={(event) => setTimezone(event.target.value)}
              />
            )}
          </Field>
        </div>
      ) : (
        <div className="grid grid-cols-2 gap-3">
          <Field name="interval_seconds" label="Every">
            {(wired) => (
              <input
                {...wired}
                required
                type="number"
                min="0.1"
                step="any"
                className={INPUT}
                value={every}
                onChange={(event) => setEvery(event.target.value)}
              />
            )}
          </Field>
          <Field name="unit" label="Unit">
            {(wired) => (
              <select
                {...wired}
                className={INPUT}
                value={unit}
                onChange={(event) => setUnit(event.target.value as Unit)}
              >
                {Object.keys(UNITS).map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
        </div>
      )}
      <Field
        name="grace_seconds"
        label="Grace time (minutes)"
        hint="How long after the expected time a ping may come before the monitor is late. After twice this time it is down."
      >
        {(wired) => (
          <input
            {...wired}
            required
            type="number"
            min="0.1"
            step="any"
            className={INPUT}
            value={grace}
            onChange={(event) => setGrace(event.target.value)}
          />
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={() => onClose()}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy} acts>
          Create monitor
        </Button>
      </div>
    </form>
  );
}
