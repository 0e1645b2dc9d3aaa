import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { ScheduleAlert } from "@/api/schema";
import { Field, INPUT } from "@/parts/form/Field";
import { Link } from "@/parts/Link";

/** "ops, after 3 failures in a row". */
export const alertSays = (alert: ScheduleAlert): string =>
  alert.to.length
    ? `${alert.to.join(", ")}, after ${alert.after === 1 ? "each failure" : `${alert.after} failures in a row`}`
    : "by alert rules only";

/** The channels that are notified when the schedule fails, beside those that alert rules name. */
export function AlertFields({ alert, onChange }: { alert: ScheduleAlert; onChange: (alert: ScheduleAlert) => void }) {
  const { data } = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
    staleTime: 30_000,
    retry: false,
  });
  const known = data?.items ?? [];
  // A channel that was named by its id, or renamed since, stays as it was given.
  const given = alert.to.filter((name) => !known.some((channel) => channel.name === name));
  const names = [...known.map((channel) => channel.name), ...given];
  if (!names.length)
    return (
      <p className="text-muted">
        No channels yet. Add one under{" "}
        <Link to="/alerts?tab=channels" className="text-accent hover:underline">
          Alerts
        </Link>
        .
      </p>
    );
  return (
    <>
      <Field name="alert.to" label="Notify when it fails, and when it recovers">
        {(wired) => (
          <div id={wired.id} role="group" className="flex flex-wrap gap-x-4 gap-y-1.5">
            {names.map((name) => (
              <label key={name} className="flex items-center gap-1.5">
                <input
                  type="checkbox"
                  className="size-3.5 accent-accent"
                  checked={alert.to.includes(name)}
                  onChange={(event) =>
                    onChange({
                      ...alert,
                      to: event.target.checked ? [...alert.to, name] : alert.to.filter((other) => other !== name),
                    })
                  }
                />
                {name}
              </label>
            ))}
          </div>
        )}
      </Field>
      <Field name="alert.after" label="After this many failures in a row" className="max-w-52">
        {(wired) => (
          <input
            {...wired}
            type="number"
            min={1}
            max={100}
            className={INPUT}
            value={alert.after}
            onChange={(event) => onChange({ ...alert, after: Number(event.target.value) || 1 })}
          />
        )}
      </Field>
    </>
  );
}
