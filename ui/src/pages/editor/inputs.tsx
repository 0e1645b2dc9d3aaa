import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";

import { useSession } from "@/api/session";
import { cx } from "@/parts/cx";

import type { Doing } from "./actions";
import { Field, INPUT } from "./Field";

export interface Part {
  doing: Doing;
  onChange: (inputs: Record<string, string>) => void;
}

const AREA = "w-full resize-y rounded border bg-bg px-2 py-1.5 font-mono text-xs aria-invalid:border-failed";

/** The receiver that this server has for first tries, when it has it. */
export function useEcho(): string | null {
  const session = useSession();
  return session?.features?.echo ? `${window.location.origin}/api/echo/hello` : null;
}

/** One line of an action. */
export function Text({
  part,
  name,
  label,
  hint,
  placeholder,
  mono,
  className,
}: {
  part: Part;
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
          value={part.doing.inputs[name] ?? ""}
          onChange={(event) => part.onChange({ [name]: event.target.value })}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          className={cx(INPUT, mono && "font-mono text-xs")}
        />
      )}
    </Field>
  );
}

/** Several lines of an action. */
export function Area({
  part,
  name,
  label,
  hint,
  placeholder,
  rows = 4,
}: {
  part: Part;
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
          value={part.doing.inputs[name] ?? ""}
          onChange={(event) => part.onChange({ [name]: event.target.value })}
          placeholder={placeholder}
          spellCheck={false}
          className={AREA}
        />
      )}
    </Field>
  );
}

/** Seldom wanted, so one line until it is. */
export function Unfold({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  const [begun] = useState(open);
  return (
    <details open={begun || undefined} className="group">
      <summary className="inline-flex list-none items-center gap-1 text-xs text-muted hover:text-ink">
        <ChevronRight size={12} className="group-open:rotate-90" aria-hidden /> {title}
      </summary>
      <div className="pt-2">{children}</div>
    </details>
  );
}
