import { cx } from "../cx";

/** A small line chart from zero to its highest value, which is written beside it. Missing values stay gaps. */
export function Sparkline({
  values,
  label,
  tone = "accent",
  height = 28,
  className,
  scale,
}: {
  values: readonly (number | null)[];
  label: string;
  tone?: string;
  height?: number;
  className?: string;
  /** The highest value in words: "8 per 15 min". Without it, the line has no scale. */
  scale?: (top: number) => string;
}) {
  const known = values.filter((value): value is number => value !== null);
  const peak = Math.max(...known, 0);
  const top = peak || 1;
  const step = values.length > 1 ? 100 / (values.length - 1) : 100;
  const y = (value: number): number => height - 2 - (value / top) * (height - 4);
  const lines: string[] = [];
  let open = false;
  values.forEach((value, index) => {
    if (value === null) {
      open = false;
      return;
    }
    lines.push(`${open ? "L" : "M"}${(index * step).toFixed(2)} ${y(value).toFixed(2)}`);
    open = true;
  });
  const line = (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      className={cx("block w-full", className)}
      style={{ height }}
    >
      <title>{label}</title>
      <line x1="0" x2="100" y1={height - 1} y2={height - 1} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
      <path
        d={lines.join("")}
        fill="none"
        stroke={`var(--${tone})`}
        strokeWidth="1.5"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
  if (!scale) return line;
  return (
    <span className="flex items-stretch gap-1.5">
      <span className="min-w-0 flex-1">{line}</span>
      <span aria-hidden className="flex flex-col justify-between text-[10px] leading-none whitespace-nowrap text-muted">
        <span>{known.length ? scale(peak) : ""}</span>
        <span>0</span>
      </span>
    </span>
  );
}
