import { type ReactNode, useId } from "react";

import type { FieldError } from "@/api/schema";

import { cx } from "../cx";
import { ErrorPointer } from "./ErrorPointer";
import { useFieldErrors } from "./fieldErrors";

export interface ControlProps {
  id: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
}

export const INPUT = "h-8 w-full min-w-0 scroll-mb-32 rounded border bg-bg px-2 aria-invalid:border-failed";

/** A labelled input with its hint, or the server's complaints and suggestions below it. */
export function Field({
  name,
  label,
  hint,
  value,
  onSuggest,
  more = [],
  className,
  children,
}: {
  /** The name of the field in the API, which complaints refer to. */
  name: string;
  label: ReactNode;
  hint?: ReactNode;
  /** The text that carets point into. */
  value?: string;
  onSuggest?: (value: string) => void;
  /** Complaints from elsewhere, such as a preview's. */
  more?: readonly FieldError[];
  className?: string;
  children: (wired: ControlProps) => ReactNode;
}) {
  const id = useId();
  const complaints = [
    ...more,
    ...useFieldErrors(name).filter((complaint) => !more.some((other) => other.message === complaint.message)),
  ];
  const wrong = complaints.length > 0;
  return (
    <div className={cx("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": wrong || undefined,
        "aria-describedby": wrong || hint ? `${id}-note` : undefined,
      })}
      {wrong ? (
        <div id={`${id}-note`} role="alert" className="text-xs text-failed-ink">
          {complaints.slice(0, 5).map((complaint) => (
            <Wrong
              key={`${complaint.field} ${complaint.message}`}
              complaint={complaint}
              name={name}
              value={value}
              onSuggest={onSuggest}
            />
          ))}
          {complaints.length > 5 ? <p>and {complaints.length - 5} more</p> : null}
        </div>
      ) : hint ? (
        <p id={`${id}-note`} className="text-xs text-muted">
          {hint}
        </p>
      ) : null}
    </div>
  );
}

function Wrong({
  complaint,
  name,
  value,
  onSuggest,
}: {
  complaint: FieldError;
  name: string;
  value?: string;
  onSuggest?: (value: string) => void;
}) {
  const { position, suggestion, message } = complaint;
  const below = complaint.field.slice(name.length).replace(/^\./, "");
  const pointed = position && value !== undefined && !(position[0] === 0 && position[1] >= value.length);
  return (
    <div>
      {pointed ? <ErrorPointer text={value} position={position} /> : null}
      <p>
        {below ? <code className="font-mono">{below} </code> : null}
        {message}.
        {suggestion && onSuggest ? (
          <>
            {" "}
            Did you mean{" "}
            <button type="button" className="font-mono underline" onClick={() => onSuggest(suggestion)}>
              {suggestion}
            </button>
            ?
          </>
        ) : null}
      </p>
    </div>
  );
}
