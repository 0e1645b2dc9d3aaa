import { cx } from "./cx";

/** A segmented control: a few choices side by side, one of them selected. */
export function Segments<T extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div role="group" aria-label={label} className="flex shrink-0 rounded border bg-surface p-0.5">
      {choices.map(([id, name]) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === value}
          onClick={() => onChange(id)}
          className={cx(
            "h-5 rounded-sm px-2 text-xs whitespace-nowrap",
            id === value ? "bg-bg font-medium text-ink shadow-[0_0_0_1px_var(--line)]" : "text-muted hover:text-ink",
          )}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
