import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

import { useRefusal } from "@/api/session";
import { useOffline } from "@/live/live";

import { cx } from "./cx";
import { Kbd } from "./Kbd";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  size?: "small" | "normal";
  icon?: ReactNode;
  /** The keyboard shortcut of the button. */
  hotkey?: string;
  busy?: boolean;
  /**
   * It sends a request: disabled with a tooltip while the server is unreachable. The default for buttons that can be
   * busy or that submit a form.
   */
  acts?: boolean;
  /** The permission it needs, e.g. `run:schedule`: without it the button is disabled and says why. */
  needs?: string;
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
  needs,
  className,
  children,
  ...rest
}: ButtonProps) {
  const offline = useOffline();
  const refused = useRefusal(needs);
  const off = refused ?? ((acts ?? (busy !== undefined || rest.type === "submit")) ? offline : null);
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
      {hotkey ? <Kbd inverse={kind === "primary"}>{hotkey}</Kbd> : null}
    </button>
  );
}
