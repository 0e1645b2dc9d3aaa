import { cx } from "../cx";
import type { ActionFormProps } from "./actionKind";
import { Field, INPUT } from "./Field";

const AREA = "w-full resize-y rounded border bg-bg px-2 py-1.5 font-mono text-xs aria-invalid:border-failed";

/** A one-line input for a field of an action. */
export function ActionInput({
  form,
  name,
  label,
  hint,
  placeholder,
  mono,
  className,
}: {
  form: Pick<ActionFormProps, "inputs" | "onChange">;
  name: string;
  label: string;
  hint?: string;
  placeholder?: string;
  mono?: boolean;
  className?: string;
}) {
  return (
    <Field name={`action.${name}`} label={label} hint={hint} className={className}>
      {(wired) => (
        <input
          {...wired}
          value={form.inputs[name] ?? ""}
          onChange={(event) => form.onChange({ [name]: event.target.value })}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          className={cx(INPUT, mono && "font-mono text-xs")}
        />
      )}
    </Field>
  );
}

/** An input of several lines for a field of an action. */
export function ActionTextarea({
  form,
  name,
  label,
  hint,
  placeholder,
  rows = 4,
}: {
  form: Pick<ActionFormProps, "inputs" | "onChange">;
  name: string;
  label: string;
  hint?: string;
  placeholder?: string;
  rows?: number;
}) {
  return (
    <Field name={`action.${name}`} label={label} hint={hint}>
      {(wired) => (
        <textarea
          {...wired}
          rows={rows}
          value={form.inputs[name] ?? ""}
          onChange={(event) => form.onChange({ [name]: event.target.value })}
          placeholder={placeholder}
          spellCheck={false}
          className={AREA}
        />
      )}
    </Field>
  );
}
