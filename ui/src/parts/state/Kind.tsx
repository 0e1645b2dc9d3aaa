import { kindOf } from "./kinds";

/** The label and icon of an action's kind. */
export function Kind({ kind, icon = true }: { kind: string; icon?: boolean }) {
  const { label, icon: Icon } = kindOf(kind);
  return (
    <span className="inline-flex items-center gap-1 text-muted">
      {icon ? <Icon size={14} strokeWidth={1.75} aria-hidden /> : null}
      {label}
    </span>
  );
}
