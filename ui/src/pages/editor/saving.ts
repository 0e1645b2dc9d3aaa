import type { Preview, Run, Schedule } from "@/api/calls";
import { ask } from "@/api/client";

import { documentOf, type Form, inputOf, type When } from "./form";
import { askedOf } from "./usePreview";

/** What could not even be sent. */
export class Unsendable extends Error {
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super("The form has faults");
  }
}

/** The trigger that an answer to words stands for. */
export const whenOf = (preview: Preview, timezone: string): Partial<When> => ({
  type: preview.type,
  ...(preview.cron_expr ? { cron: preview.cron_expr } : {}),
  ...(preview.interval_seconds ? { seconds: preview.interval_seconds } : {}),
  ...(preview.run_at ? { runAt: inputOf(preview.run_at, timezone) } : {}),
});

/** Words are read once more before anything is kept: what is saved is what they say now. */
async function settled(form: Form): Promise<Form> {
  if (form.when.by !== "words" || !form.when.words.trim()) return form;
  const preview = await ask<Preview>("/api/schedules/preview", {
    method: "POST",
    body: { ...askedOf(form.when, form.timezone), count: 1 },
  });
  return { ...form, when: { ...form.when, ...whenOf(preview, form.timezone), by: "trigger" } };
}

function sendable(form: Form): Record<string, unknown> {
  const { body, errors } = documentOf(form);
  if (Object.keys(errors).length) throw new Unsendable(errors);
  return body;
}

export async function save(form: Form, existing: Schedule | null, once: string): Promise<Schedule> {
  const body = sendable(await settled(form));
  // A copy says whose it is, so that it keeps the credentials that nobody can read.
  const copied = form.source ? { ...body, id: form.source } : body;
  if (!existing) return ask<Schedule>("/api/schedules", { method: "POST", body: copied, once });
  return ask<Schedule>(`/api/schedules/${existing.id}`, {
    method: "PUT",
    body,
    headers: { "If-Match": `"${existing.version}"` },
  });
}

export const pause = (schedule: Schedule, reason: string): Promise<Schedule> =>
  ask<Schedule>(`/api/schedules/${schedule.id}/pause`, { method: "POST", body: { reason } });

export const resume = (schedule: Schedule): Promise<Schedule> =>
  ask<Schedule>(`/api/schedules/${schedule.id}/resume`, { method: "POST" });

/** A run of what the form says now, without keeping it. */
export function testRun(form: Form, schedule: Schedule): Promise<Run> {
  const { kind: _kind, ...payload } = sendable(form).action as Record<string, unknown>;
  return ask<Run>(`/api/schedules/${schedule.id}/run-now`, { method: "POST", body: { payload } });
}
