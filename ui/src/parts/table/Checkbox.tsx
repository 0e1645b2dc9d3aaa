export function Checkbox({
  checked,
  partly,
  label,
  onChange,
}: {
  checked: boolean;
  partly?: boolean;
  label: string;
  onChange: (event: { shift: boolean }) => void;
}) {
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={checked}
      ref={(element) => {
        if (element) element.indeterminate = Boolean(partly) && !checked;
      }}
      onChange={() => undefined}
      onClick={(event) => {
        event.stopPropagation();
        onChange({ shift: event.shiftKey });
      }}
      className="block size-3.5 cursor-pointer accent-accent"
    />
  );
}
