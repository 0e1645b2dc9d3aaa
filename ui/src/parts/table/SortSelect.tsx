/** The server's order of a list that has no column headings. The first choice is the usual order. */
export function SortSelect({
  value,
  choices,
  onChange,
}: {
  value: string;
  choices: readonly (readonly [order: string, label: string])[];
  onChange: (order: string) => void;
}) {
  return (
    <label className="flex items-center gap-2 text-xs text-muted">
      Sort by
      <select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="h-7 rounded border bg-bg px-2 text-ink"
      >
        {choices.map(([order, label]) => (
          <option key={order} value={order}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
