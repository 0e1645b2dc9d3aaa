import { cx } from "../cx";
import { lookOf, type Tone } from "./states";

const TONES: Record<Tone, string> = {
  success: "bg-success-tint text-success-ink",
  running: "bg-running-tint text-running-ink",
  attention: "bg-attention-tint text-attention-ink",
  failed: "bg-failed-tint text-failed-ink",
  dead: "bg-dead-tint text-dead-ink",
  neutral: "bg-neutral-tint text-neutral-ink",
};

const INKS: Record<Tone, string> = {
  success: "text-success-ink",
  running: "text-running-ink",
  attention: "text-attention-ink",
  failed: "text-failed-ink",
  dead: "text-dead-ink",
  neutral: "text-neutral-ink",
};

export const toneInk = (tone: Tone): string => INKS[tone];
export const toneBadge = (tone: Tone): string => TONES[tone];

/** The icon of a state; its word is the accessible name and the tooltip. */
export function StateIcon({ state, size = 16, className }: { state: string; size?: number; className?: string }) {
  const { icon: Icon, label, tone, solid, means } = lookOf(state);
  return (
    <span
      role="img"
      aria-label={label}
      title={`${label}: ${means}`}
      className={cx("inline-flex shrink-0", INKS[tone], className)}
    >
      <Icon
        size={size}
        strokeWidth={1.75}
        aria-hidden
        className={state === "running" ? "animate-turn" : undefined}
        fill={solid ? `color-mix(in srgb, var(--${tone}) 22%, transparent)` : "none"}
      />
    </span>
  );
}

/** Icon and word, never colour alone. `still`: a past state, without animation. */
export function StateBadge({ state, note, still }: { state: string; note?: string; still?: boolean }) {
  const { icon: Icon, label, tone, means } = lookOf(state);
  return (
    <span
      title={means}
      className={cx(
        "inline-flex h-5 shrink-0 items-center gap-1 whitespace-nowrap rounded-full px-2 text-xs font-medium",
        TONES[tone],
      )}
    >
      <Icon
        size={13}
        strokeWidth={2}
        aria-hidden
        className={state === "running" && !still ? "animate-turn" : undefined}
      />
      {label}
      {note ? <span className="font-normal">{note}</span> : null}
    </span>
  );
}
