import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

import { useOffline } from "@/live/live";

import { cx } from "./cx";
import { Key } from "./Key";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  size?: "small" | "normal";
  icon?: ReactNode;
  /** The key that does the same. */
  hotkey?: string;
  busy?: boolean;
  /**
   * It asks something of the server: off while that is not there, and says so. Taken for granted of one that can be busy
   * or that sends a form.
   */
  acts?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

const KINDS = {
  plain: "border bg-raised text-ink hover:bg-surface",
  primary: "border border-transparent bg-accent text-on-accent hover:opacity-90",
  danger: "border border-failed/40 bg-raised text-failed-ink hover:bg-failed-tint",
  quiet: "border border-transparent text-muted hover:bg-surface hover:text-ink",
};

export function Button({
  kind = "plain",
  size = "normal",
  icon,
  hotkey,
  busy,
  acts,
  className,
  children,
  ...rest
}: ButtonProps) {
  const offline = useOffline();
  const off = (acts ?? (busy !== undefined || rest.type === "submit")) ? offline : null;
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      {...rest}
      title={off ?? rest.title}
      disabled={rest.disabled || busy || off !== null}
      className={cx(
        "inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded font-medium",
        "disabled:cursor-not-allowed disabled:opacity-50",
        size === "small" ? "h-6 px-2 text-xs" : "h-8 px-3 text-sm",
        !children && (size === "small" ? "w-6 px-0!" : "w-8 px-0!"),
        KINDS[kind],
        className,
      )}
    >
      {icon}
      {children}
      {hotkey ? <Key inverse={kind === "primary"}>{hotkey}</Key> : null}
    </button>
  );
}
