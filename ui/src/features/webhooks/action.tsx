import { MoveToSecret } from "@/features/secrets/MoveToSecret";
import { ActionInput, ActionTextarea } from "@/parts/form/ActionInput";
import { type ActionFormProps, type ActionKind, isObject, textOf } from "@/parts/form/actionKind";
import { Disclosure } from "@/parts/form/Disclosure";
import { Field, INPUT } from "@/parts/form/Field";
import { parseJson } from "@/parts/form/json";

import { parseHeaders } from "./headers";
import { useEchoUrl } from "./useEchoUrl";

export const webhookAction: ActionKind = {
  blank: (echoUrl) => ({
    url: echoUrl ?? "",
    method: "POST",
    headers: "",
    body: echoUrl ? '{\n  "hello": "world"\n}' : "",
  }),
  read: ({ headers, body }) => ({
    headers: Object.entries(isObject(headers) ? headers : {})
      .map(([name, value]) => `${name}: ${textOf(value)}`)
      .join("\n"),
    body: body === undefined || body === null ? "" : JSON.stringify(body, null, 2),
  }),
  write: (reader) => ({
    url: reader.text("url"),
    method: reader.text("method"),
    headers: reader.parsed("headers", parseHeaders),
    body: reader.parsed("body", parseJson),
  }),
  Form: WebhookForm,
};

function WebhookForm(form: ActionFormProps) {
  const echoUrl = useEchoUrl();
  return (
    <>
      <div className="flex gap-2">
        <Field name="action.method" label="Method" className="w-28 shrink-0">
          {(wired) => (
            <select
              {...wired}
              value={form.inputs.method || "POST"}
              onChange={(event) => form.onChange({ method: event.target.value })}
              className={INPUT}
            >
              {["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          )}
        </Field>
        <ActionInput
          form={form}
          name="url"
          label="URL"
          placeholder="https://example.com/hook"
          mono
          className="flex-1"
          hint={
            form.inputs.url === echoUrl
              ? "This server's built-in echo receiver: it returns what it receives."
              : undefined
          }
        />
      </div>
      <ActionTextarea form={form} name="body" label="Body (JSON)" rows={3} placeholder={'{ "hello": "world" }'} />
      <Disclosure title="Headers" open={Boolean(form.inputs.headers)}>
        <ActionTextarea
          form={form}
          name="headers"
          label="Headers, one per line"
          rows={2}
          placeholder="Authorization: Bearer {{ secret.PARTNER }}"
          hint="{{ secret.NAME }} inserts a secret from Settings; *** keeps the stored value."
        />
        <MoveToSecret
          headers={form.inputs.headers ?? ""}
          url={form.inputs.url ?? ""}
          onMoved={(headers) => form.onChange({ headers })}
        />
      </Disclosure>
    </>
  );
}
