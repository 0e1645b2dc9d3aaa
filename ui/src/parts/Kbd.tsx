import { cx } from "./cx";

/** A key of the keyboard. Hidden on narrow screens, which seldom have one. */
export function Kbd({ children, inverse }: { children: string; inverse?: boolean }) {
  return (
    <kbd
      className={cx(
        "hidden min-w-4 rounded-sm px-1 text-center font-mono text-[11px] leading-4 md:inline-block",
        inverse ? "bg-on-accent/20" : "border bg-surface text-muted",
      )}
    >
      {children}
    </kbd>
  );
}
