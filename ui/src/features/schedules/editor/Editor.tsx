import { useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { FlaskConical } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { toast } from "sonner";

import { newIdempotencyKey } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, withDocument } from "@/parts/copy/snippets";
import { ErrorCard } from "@/parts/ErrorCard";
import { Disclosure } from "@/parts/form/Disclosure";
import { Field, INPUT } from "@/parts/form/Field";
import { FieldErrors, FieldErrorsContext } from "@/parts/form/fieldErrors";
import { type Crumb, Page } from "@/parts/Page";
import { useNavigateTo } from "@/parts/useUrl";

import { LIMITS } from "../limits";
import { PreviewPanel } from "../preview/PreviewPanel";
import { usePreview } from "../preview/usePreview";
import { ActionSection } from "./ActionSection";
import { commandOf, documentOf, type Form, restrictionOf } from "./form";
import { PolicySection } from "./PolicySection";
import { pause, save, testRun, triggerInputsOf, Unsendable } from "./save";
import { TagsInput } from "./TagsInput";
import { TestRun } from "./TestRun";
import { TriggerSection } from "./TriggerSection";

const SHOWN = [
  "name",
  "description",
  "tags",
  "action",
  "words",
  "cron_expr",
  "interval_seconds",
  "run_at",
  "timezone",
  "overlap",
  "catchup",
  "retry_policy",
  "queue",
  "priority",
  ...LIMITS.map(({ name }) => name),
  "alert",
  "start_at",
  "end_at",
];

/** The editor of a new or existing schedule. */
export function Editor({
  start,
  existing,
  title,
  crumbs,
}: {
  start: Form;
  existing: Schedule | null;
  title: string;
  crumbs: Crumb[];
}) {
  const go = useNavigateTo();
  const queries = useQueryClient();
  const [form, setForm] = useState(start);
  const clean = start;
  const [busy, setBusy] = useState<"" | "save" | "paused" | "test">("");
  const [refusal, setRefusal] = useState<unknown>(null);
  const [tested, setTested] = useState<string | null>(null);
  const idempotencyKey = useRef(newIdempotencyKey());
  const leaving = useRef(false);
  const page = useRef<HTMLDivElement>(null);
  const preview = usePreview(form);
  const patch = (change: Partial<Form>): void => {
    setForm((before) => ({ ...before, ...change }));
    setRefusal(null);
  };

  // The trigger that the server parsed from the natural-language text is shown in the other inputs.
  const { data, settled } = preview;
  const { by } = form.when;
  useEffect(() => {
    if (by === "words" && settled && data)
      setForm((before) =>
        before.when.by === "words"
          ? { ...before, when: { ...before.when, ...triggerInputsOf(data, before.timezone) } }
          : before,
      );
  }, [by, settled, data]);

  const dirty = useMemo(
    () =>
      JSON.stringify(documentOf(form).body) !== JSON.stringify(documentOf(clean).body) &&
      !(
        form.when.by === "words" &&
        form.when.words === clean.when.words &&
        JSON.stringify({ ...form, when: 0 }) === JSON.stringify({ ...clean, when: 0 })
      ),
    [form, clean],
  );
  const blocker = useBlocker({
    shouldBlockFn: () => dirty && !leaving.current,
    enableBeforeUnload: () => dirty && !leaving.current,
    withResolver: true,
  });

  const own = refusal instanceof Unsendable ? refusal.errors : {};
  const fieldErrors = useMemo(() => new FieldErrors(refusal instanceof Unsendable ? null : refusal, own), [refusal]);
  useEffect(() => {
    if (fieldErrors.any) page.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [fieldErrors]);

  const attempt = async (what: typeof busy, act: () => Promise<void>): Promise<void> => {
    setBusy(what);
    setRefusal(null);
    try {
      await act();
    } catch (error) {
      setRefusal(error);
    } finally {
      setBusy("");
    }
  };
  const { body } = documentOf(form);
  const call: Call = {
    verb: existing ? "Change" : "Create",
    method: existing ? "PUT" : "POST",
    path: existing ? `/api/schedules/${existing.id}` : "/api/schedules",
    body: JSON.parse(JSON.stringify(body)),
    cli: existing ? withDocument(`schedule edit ${existing.id} --file -`, body) : commandOf(form),
  };
  const keep = async (): Promise<Schedule> => {
    const kept = await save(form, existing, idempotencyKey.current);
    idempotencyKey.current = newIdempotencyKey();
    queries.setQueryData(queryKeys.saved(kept.id), call);
    queries.setQueryData(["schedules", "one", kept.id], kept);
    void queries.invalidateQueries({ queryKey: ["schedules"] });
    return kept;
  };
  const leave = (kept: Schedule): void => {
    leaving.current = true;
    go(`/schedules/${kept.id}`);
  };
  const submit = (): Promise<void> =>
    attempt("save", async () => {
      const kept = await keep();
      queries.setQueryData(["schedules", "one", kept.id], kept);
      toast.success(existing ? `Saved ${kept.name}` : `Scheduled ${kept.name}`);
      leave(kept);
    });
  const submitPaused = (): Promise<void> =>
    attempt("paused", async () => {
      const kept = await keep();
      const paused = kept.status === "paused" ? kept : await pause(kept, "saved paused");
      queries.setQueryData(["schedules", "one", kept.id], paused);
      toast.success(`Saved ${kept.name} (paused)`);
      leave(kept);
    });
  const test = (): Promise<void> =>
    attempt("test", async () => {
      const run = await testRun(form, existing);
      setTested(run.id);
    });

  const anew = (): void => {
    leaving.current = true;
    window.location.reload();
  };

  const stale = refusal instanceof ProblemError && refusal.status === 412;
  return (
    <Page title={title} crumbs={crumbs} actions={<CopyAs call={call} />}>
      <FieldErrorsContext value={fieldErrors}>
        <div ref={page} className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(380px,460px)]">
          <form
            className="flex min-w-0 flex-col gap-4"
            onSubmit={(event) => {
              event.preventDefault();
              void submit();
            }}
          >
            <Card title="What">
              <div className="flex flex-col gap-4">
                <div className="grid gap-3 sm:grid-cols-2">
                  <Field name="name" label="Name">
                    {(wired) => (
                      <input
                        {...wired}
                        value={form.name}
                        maxLength={200}
                        onChange={(event) => patch({ name: event.target.value })}
                        autoComplete="off"
                        className={INPUT}
                      />
                    )}
                  </Field>
                  <TagsInput tags={form.tags} onChange={(tags) => patch({ tags })} />
                </div>
                <ActionSection
                  action={form.action}
                  others={form.others}
                  locked={existing !== null}
                  onKind={(action) => patch({ action, others: { ...form.others, [form.action.kind]: form.action } })}
                  onChange={(inputs) =>
                    patch({ action: { ...form.action, inputs: { ...form.action.inputs, ...inputs } } })
                  }
                />
                <Disclosure title="Description" open={Boolean(form.description)}>
                  <Field name="description" label="Description">
                    {(wired) => (
                      <textarea
                        {...wired}
                        rows={2}
                        value={form.description}
                        onChange={(event) => patch({ description: event.target.value })}
                        placeholder="What it is for and who owns it"
                        className="w-full resize-y rounded border bg-bg px-2 py-1.5"
                      />
                    )}
                  </Field>
                </Disclosure>
              </div>
            </Card>
            <Card title="When">
              <TriggerSection
                form={form}
                preview={preview}
                onChange={(when) => patch({ when: { ...form.when, ...when } })}
                onZone={(timezone) => patch({ timezone })}
              />
            </Card>
            <Card title="Policies">
              <PolicySection form={form} onChange={patch} />
            </Card>
            <div className="sticky bottom-0 z-10 -mx-4 flex flex-col gap-2 border-t bg-bg px-4 py-3 md:mx-0 md:rounded-lg md:border">
              {stale ? (
                <div role="alert" className="rounded-lg bg-attention-tint px-3 py-2 text-attention-ink">
                  Someone else changed this schedule. Nothing was saved.{" "}
                  <button type="button" className="underline" onClick={() => anew()}>
                    Load the current version
                  </button>
                  and make your changes again.
                </div>
              ) : fieldErrors.other ? (
                <ErrorCard error={fieldErrors.other} what="Could not save" />
              ) : null}
              {fieldErrors.beyond(SHOWN).map((complaint) => (
                <p key={complaint.field + complaint.message} role="alert" className="text-failed-ink">
                  <code className="font-mono">{complaint.field}</code> {complaint.message}
                </p>
              ))}
              <div className="flex flex-wrap items-center gap-2">
                <Button
                  icon={<FlaskConical size={14} aria-hidden />}
                  busy={busy === "test"}
                  disabled={busy !== ""}
                  onClick={() => void test()}
                  title="Runs the action once as it is in the form; nothing is saved"
                >
                  Test run
                </Button>
                {fieldErrors.any ? (
                  <span role="status" className="text-xs text-failed-ink">
                    Not saved: fix the fields in red.
                  </span>
                ) : null}
                <span className="ml-auto flex gap-2">
                  <Button busy={busy === "paused"} disabled={busy !== ""} onClick={() => void submitPaused()}>
                    Save paused
                  </Button>
                  <Button type="submit" kind="primary" busy={busy === "save"} disabled={busy !== ""}>
                    Save
                  </Button>
                </span>
              </div>
            </div>
          </form>
          <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-4">
            {tested ? <TestRun key={tested} id={tested} /> : null}
            <PreviewPanel
              preview={preview}
              restriction={restrictionOf(form)}
              onUtc={() => patch({ timezone: "UTC" })}
            />
          </div>
        </div>
      </FieldErrorsContext>
      <Confirm
        open={blocker.status === "blocked"}
        onClose={() => blocker.reset?.()}
        onConfirm={() => blocker.proceed?.()}
        title="Discard changes"
        action="Discard"
        danger
        acts={false}
      >
        Your changes will be lost.
      </Confirm>
    </Page>
  );
}
