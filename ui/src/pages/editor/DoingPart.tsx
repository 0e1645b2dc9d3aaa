import { cx } from "@/parts/cx";

import { TEMPLATES } from "../schedules/templates";
import { blank, type Doing } from "./actions";
import { useFaults } from "./faults";
import { type Part, useEcho } from "./inputs";
import { FORMS, Other } from "./kinds";

/** What it does: its kind, and what that kind needs to know. */
export function DoingPart({
  doing,
  others,
  locked,
  onKind,
  onChange,
}: {
  doing: Doing;
  others: Record<string, Doing>;
  locked: boolean;
  onKind: (doing: Doing) => void;
  onChange: Part["onChange"];
}) {
  const echo = useEcho();
  const faults = useFaults("action.kind");
  const Form = FORMS[doing.kind] ?? Other;
  return (
    <div className="flex flex-col gap-4">
      <div role="radiogroup" aria-label="What it does" className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {TEMPLATES.map(({ kind, label, says, icon: Icon }) => (
          <button
            key={kind}
            type="button"
            role="radio"
            aria-checked={doing.kind === kind}
            disabled={locked && doing.kind !== kind}
            title={
              locked && doing.kind !== kind ? "What kind of thing it does stays; duplicate it to change that" : says
            }
            onClick={() => doing.kind !== kind && onKind(others[kind] ?? blank(kind, echo))}
            className={cx(
              "flex items-center gap-2 rounded border px-3 py-2 text-left disabled:opacity-50",
              doing.kind === kind ? "border-accent bg-accent-tint font-medium" : "hover:bg-surface",
            )}
          >
            <Icon
              size={16}
              strokeWidth={1.75}
              className={cx("shrink-0", doing.kind === kind ? "text-accent" : "text-muted")}
              aria-hidden
            />
            <span className="min-w-0 truncate">{label}</span>
          </button>
        ))}
      </div>
      {faults.map((one) => (
        <p key={one.message} role="alert" className="text-xs text-failed-ink">
          {one.message}.
        </p>
      ))}
      <Form doing={doing} onChange={onChange} />
    </div>
  );
}
