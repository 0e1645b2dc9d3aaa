import { useEchoUrl } from "@/features/webhooks/useEchoUrl";
import { cx } from "@/parts/cx";
import type { ActionFormProps } from "@/parts/form/actionKind";
import { useFieldErrors } from "@/parts/form/fieldErrors";

import { TEMPLATES } from "../templates";
import { type ActionInputs, blankAction } from "./action";
import { ACTION_KINDS, UNKNOWN_KIND } from "./actionKinds";

/** The action of a schedule: the choice of its kind, and that kind's form. */
export function ActionSection({
  action,
  others,
  locked,
  onKind,
  onChange,
}: {
  action: ActionInputs;
  others: Record<string, ActionInputs>;
  locked: boolean;
  onKind: (action: ActionInputs) => void;
  onChange: ActionFormProps["onChange"];
}) {
  const echoUrl = useEchoUrl();
  const complaints = useFieldErrors("action.kind");
  const { Form } = ACTION_KINDS[action.kind] ?? UNKNOWN_KIND;
  return (
    <div className="flex flex-col gap-4">
      <div role="radiogroup" aria-label="What it does" className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {TEMPLATES.map(({ kind, label, says, icon: Icon }) => (
          <button
            key={kind}
            type="button"
            role="radio"
            aria-checked={action.kind === kind}
            disabled={locked && action.kind !== kind}
            title={
              locked && action.kind !== kind
                ? "The action type cannot be changed. Duplicate the schedule instead."
                : says
            }
            onClick={() => action.kind !== kind && onKind(others[kind] ?? blankAction(kind, echoUrl))}
            className={cx(
              "flex items-center gap-2 rounded border px-3 py-2 text-left disabled:opacity-50",
              action.kind === kind ? "border-accent bg-accent-tint font-medium" : "hover:bg-surface",
            )}
          >
            <Icon
              size={16}
              strokeWidth={1.75}
              className={cx("shrink-0", action.kind === kind ? "text-accent" : "text-muted")}
              aria-hidden
            />
            <span className="min-w-0 truncate">{label}</span>
          </button>
        ))}
      </div>
      {complaints.map((complaint) => (
        <p key={complaint.message} role="alert" className="text-xs text-failed-ink">
          {complaint.message}.
        </p>
      ))}
      <Form kind={action.kind} inputs={action.inputs} onChange={onChange} />
    </div>
  );
}
