import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ask, newIdempotencyKey, send } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { WatchDetail } from "@/api/schema";
import { TagsInput } from "@/features/schedules/editor/TagsInput";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { Disclosure } from "@/parts/form/Disclosure";
import { Field, INPUT } from "@/parts/form/Field";
import { FieldErrors, FieldErrorsContext } from "@/parts/form/fieldErrors";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { useNavigateTo, useParam } from "@/parts/useUrl";
import { browserZone } from "@/time/zone";

import { ConditionTrialCard } from "./ConditionTrialCard";
import { FieldRows } from "./FieldRows";
import { blankForm, documentOf, formOf, patchOf, type Source, type WatchForm } from "./form";
import { PreviewCard } from "./PreviewCard";
import { TimingFields } from "./TimingFields";

const CRUMBS = [{ label: "Watches", to: "/watches" }];
const SHOWN = ["name", "urls", "sitemap", "feed", "links", "select", "fields", "ignore", "when", "schedule", "revisit"];

/** Creates a watch, or changes one. */
export default function WatchEditorPage() {
  const id = useParam("id");
  const watch = useQuery({
    queryKey: queryKeys.watch(id),
    queryFn: ({ signal }) => ask("/api/watches/{watch_id}", { params: { watch_id: id }, signal }),
    enabled: id !== "",
    // What is being edited does not change under the pointer.
    staleTime: Infinity,
  });
  if (id === "") return <Editor existing={null} />;
  if (watch.data) return <Editor existing={watch.data} />;
  return (
    <Page title="Edit watch" crumbs={CRUMBS}>
      {watch.error ? <ErrorCard error={watch.error} what="Could not load the watch" /> : <SkeletonRows rows={4} />}
    </Page>
  );
}

function Editor({ existing }: { existing: WatchDetail | null }) {
  const go = useNavigateTo();
  const [form, setForm] = useState(() => (existing ? formOf(existing, browserZone()) : blankForm(browserZone())));
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [once] = useState(newIdempotencyKey);
  const change = (values: Partial<WatchForm>): void => setForm((before) => ({ ...before, ...values }));
  const save = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    try {
      const saved = existing
        ? await send("PATCH", "/api/watches/{watch_id}", { params: { watch_id: existing.id }, body: patchOf(form) })
        : await send("POST", "/api/watches", { body: documentOf(form), idempotencyKey: once });
      go(`/watches/${saved.id}`);
    } catch (error) {
      setRefusal(error);
    } finally {
      setBusy(false);
    }
  };
  const errors = new FieldErrors(refusal);
  const beyond = errors.beyond(SHOWN);
  return (
    <Page
      title={existing ? `Edit ${existing.name}` : "New watch"}
      crumbs={CRUMBS}
      actions={
        <>
          <Button onClick={() => go(existing ? `/watches/${existing.id}` : "/watches")}>Cancel</Button>
          <Button kind="primary" needs="write:watch" busy={busy} onClick={() => void save()}>
            {existing ? "Save" : "Create watch"}
          </Button>
        </>
      }
    >
      <FieldErrorsContext value={errors}>
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <form
            className="flex min-w-0 flex-col gap-4"
            onSubmit={(event) => {
              event.preventDefault();
              void save();
            }}
          >
            {errors.other ? <ErrorCard error={errors.other} what="Could not save the watch" /> : null}
            {beyond.map((complaint) => (
              <p key={complaint.field} role="alert" className="text-sm text-failed-ink">
                <code className="font-mono">{complaint.field}</code> {complaint.message}.
              </p>
            ))}
            <Card title="Pages">
              <Pages form={form} onChange={change} />
            </Card>
            <Card title="What is compared">
              <Compared form={form} onChange={change} />
            </Card>
            <Card title="Which changes count">
              <Counting form={form} onChange={change} />
            </Card>
            <Card title="When">
              <TimingFields form={form} onChange={change} />
            </Card>
          </form>
          <div className="flex min-w-0 flex-col gap-4">
            <PreviewCard
              form={form}
              onField={(field) => change({ fields: [...form.fields, field] })}
              onError={setRefusal}
            />
            {existing ? <ConditionTrialCard watch={existing.id} when={form.when} at={form.at} /> : null}
          </div>
        </div>
      </FieldErrorsContext>
    </Page>
  );
}

type Part = { form: WatchForm; onChange: (values: Partial<WatchForm>) => void };

const SOURCES: readonly (readonly [Source, string])[] = [
  ["urls", "these URLs"],
  ["sitemap", "the pages of a sitemap"],
  ["feed", "the entries of a feed"],
  ["links", "the links of a page"],
];

function Pages({ form, onChange }: Part) {
  return (
    <div className="flex flex-col gap-3">
      <Field name="name" label="Name">
        {(wired) => (
          <input
            {...wired}
            className={INPUT}
            placeholder="Kettle prices"
            value={form.name}
            onChange={(event) => onChange({ name: event.target.value })}
          />
        )}
      </Field>
      <Field name="source" label="Watch">
        {(wired) => (
          <select
            {...wired}
            className={INPUT}
            value={form.source}
            onChange={(event) => onChange({ source: event.target.value as Source })}
          >
            {SOURCES.map(([source, label]) => (
              <option key={source} value={source}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {form.source === "urls" ? (
        <Field name="urls" label="URLs, one per line">
          {(wired) => (
            <textarea
              {...wired}
              rows={3}
              spellCheck={false}
              className={`${INPUT} h-auto py-1 font-mono text-xs`}
              placeholder="https://shop.example/kettle"
              value={form.urls}
              onChange={(event) => onChange({ urls: event.target.value })}
            />
          )}
        </Field>
      ) : (
        <Field name={form.source === "links" ? "links" : form.source} label="URL">
          {(wired) => (
            <input
              {...wired}
              className={`${INPUT} font-mono text-xs`}
              placeholder={form.source === "sitemap" ? "https://shop.example/sitemap.xml" : "https://shop.example/"}
              value={form.from}
              onChange={(event) => onChange({ from: event.target.value })}
            />
          )}
        </Field>
      )}
      {form.source === "links" ? (
        <Field name="links.css" label="Selector of the links">
          {(wired) => (
            <input
              {...wired}
              className={`${INPUT} font-mono text-xs`}
              placeholder="a.product"
              value={form.links}
              onChange={(event) => onChange({ links: event.target.value })}
            />
          )}
        </Field>
      ) : null}
      <TagsInput tags={form.tags} onChange={(tags) => onChange({ tags })} />
    </div>
  );
}

function Compared({ form, onChange }: Part) {
  return (
    <div className="flex flex-col gap-3">
      <p className="text-xs text-muted">
        Compare fields or a part of the page. Without either, the whole visible text is compared.
      </p>
      <FieldRows fields={form.fields} onChange={(fields) => onChange({ fields })} />
      <Field name="select" label="Part of the page" hint="A CSS selector, an XPath, or a $.path into JSON">
        {(wired) => (
          <input
            {...wired}
            className={`${INPUT} font-mono text-xs`}
            value={form.select}
            onChange={(event) => onChange({ select: event.target.value })}
          />
        )}
      </Field>
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={form.article}
          onChange={(event) => onChange({ article: event.target.checked })}
        />
        Only the main text, as for an article
      </label>
      <Disclosure title="Ignore, render, keep pages" open={Boolean(form.ignore || form.render || form.keepPages)}>
        <div className="flex flex-col gap-3">
          <Field
            name="ignore"
            label="Ignore, one per line"
            hint="CSS selectors, xpath: …, regex: …, whitespace, dates, numbers"
          >
            {(wired) => (
              <textarea
                {...wired}
                rows={3}
                spellCheck={false}
                className={`${INPUT} h-auto py-1 font-mono text-xs`}
                value={form.ignore}
                onChange={(event) => onChange({ ignore: event.target.value })}
              />
            )}
          </Field>
          <div className="grid grid-cols-2 gap-3">
            <Field name="render" label="In a browser">
              {(wired) => (
                <select
                  {...wired}
                  className={INPUT}
                  value={form.render}
                  onChange={(event) => onChange({ render: event.target.value })}
                >
                  <option value="">host default</option>
                  {["never", "auto", "always"].map((render) => (
                    <option key={render}>{render}</option>
                  ))}
                </select>
              )}
            </Field>
            <Field name="keep_pages" label="Keep original pages" hint="30d by default; off keeps none">
              {(wired) => (
                <input
                  {...wired}
                  className={INPUT}
                  value={form.keepPages}
                  onChange={(event) => onChange({ keepPages: event.target.value })}
                />
              )}
            </Field>
          </div>
        </div>
      </Disclosure>
    </div>
  );
}

function Counting({ form, onChange }: Part) {
  return (
    <div className="flex flex-col gap-3">
      <Field
        name="when"
        label="Condition"
        value={form.when}
        hint='Empty: every change. Examples: price < 30 · drops(price, 10%) · appears(text, "sold out") · removed'
      >
        {(wired) => (
          <input
            {...wired}
            className={`${INPUT} font-mono text-xs`}
            spellCheck={false}
            value={form.when}
            onChange={(event) => onChange({ when: event.target.value })}
          />
        )}
      </Field>
      <Field name="at" label="A change counts">
        {(wired) => (
          <select
            {...wired}
            className={INPUT}
            value={form.at}
            onChange={(event) => onChange({ at: event.target.value as WatchForm["at"] })}
          >
            <option value="crossing">when it becomes true</option>
            <option value="every_visit">at every visit while it is true</option>
          </select>
        )}
      </Field>
    </div>
  );
}
