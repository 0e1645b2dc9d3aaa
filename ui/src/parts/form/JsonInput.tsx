import { useId } from "react";

import { cx } from "../cx";

/** A JSON input that reports the position of a syntax error. */
export function JsonInput({
  label,
  value,
  onChange,
  error,
  rows = 5,
  placeholder,
  name,
  hint,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  error?: string;
  rows?: number;
  placeholder?: string;
  name?: string;
  hint?: string;
}) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      <textarea
        id={id}
        name={name}
        value={value}
        rows={rows}
        spellCheck={false}
        placeholder={placeholder}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        onChange={(event) => onChange(event.target.value)}
        className={cx("w-full resize-y rounded border bg-bg px-2 py-1.5 font-mono text-xs", error && "border-failed")}
      />
      {error ? (
        <p id={`${id}-error`} role="alert" className="text-xs text-failed-ink">
          {error}
        </p>
      ) : hint ? (
        <p className="text-xs text-muted">{hint}</p>
      ) : null}
    </div>
  );
}
