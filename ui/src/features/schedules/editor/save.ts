import { send } from "@/api/client";
import type { SchedulePreview, Run, Schedule } from "@/api/schema";
import { inputOf } from "@/time/datetimeLocal";

import { previewRequest } from "../preview/usePreview";
import { type Document, documentOf, type Form, type TriggerInputs } from "./form";

/** Thrown for a form with inputs that cannot be sent. */
export class Unsendable extends Error {
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super("The form has errors");
  }
}

/** The inputs for the trigger that a preview has parsed. */
export const triggerInputsOf = (preview: SchedulePreview, timezone: string): Partial<TriggerInputs> => ({
  type: preview.type,
  ...(preview.cron_expr ? { cron: preview.cron_expr } : {}),
  ...(preview.interval_seconds ? { seconds: preview.interval_seconds } : {}),
  ...(preview.run_at ? { runAt: inputOf(preview.run_at, timezone) } : {}),
});

/** Parses natural language once more before saving, so that the stored trigger is that of the final text. */
async function settled(form: Form): Promise<Form> {
  if (form.when.by !== "words" || !form.when.words.trim()) return form;
  const preview = await send("POST", "/api/schedules/preview", {
    body: { ...previewRequest(form.when, form.timezone), count: 1 },
  });
  return {
    ...form,
    // An interval such as "every other tuesday" counts from its first instant.
    ...(preview.start_at ? { startAt: inputOf(preview.start_at, form.timezone) } : {}),
    when: { ...form.when, ...triggerInputsOf(preview, form.timezone), by: "trigger" },
  };
}

function sendable(form: Form): Document["body"] {
  const { body, errors } = documentOf(form);
  if (Object.keys(errors).length) throw new Unsendable(errors);
  return body;
}

/** A copy names its original, so that the server copies the sealed credentials. */
const copied = (form: Form, body: Document["body"]): Document["body"] =>
  form.source ? Object.assign({}, body, { id: form.source }) : body;

export async function save(form: Form, existing: Schedule | null, idempotencyKey: string): Promise<Schedule> {
  const body = sendable(await settled(form));
  if (!existing) return send("POST", "/api/schedules", { body: copied(form, body), idempotencyKey });
  return send("PUT", "/api/schedules/{schedule_id}", {
    params: { schedule_id: existing.id },
    body,
    headers: { "If-Match": `"${existing.version}"` },
  });
}

export const pause = (schedule: Schedule, reason: string): Promise<Schedule> =>
  send("POST", "/api/schedules/{schedule_id}/pause", { params: { schedule_id: schedule.id }, body: { reason } });

/** Runs the form's action once; neither the schedule nor a change to it is saved. */
export async function testRun(form: Form, existing: Schedule | null): Promise<Run> {
  const body = sendable(await settled(form));
  if (!existing) return send("POST", "/api/schedules/test", { body: copied(form, body) });
  const { kind: _kind, ...payload } = body.action;
  return send("POST", "/api/schedules/{schedule_id}/run-now", {
    params: { schedule_id: existing.id },
    body: { payload },
  });
}
