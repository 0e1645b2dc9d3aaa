import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import { ShellCommand } from "./copy/ShellCommand";

/** An empty state: why there is nothing, and what to do about it. */
export function Empty({
  icon: Icon,
  title,
  children,
  actions,
  cli,
}: {
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** The command for the next step, without `foliot`. */
  cli?: string | null;
}) {
  return (
    <div className="flex flex-col items-center justify-center gap-3 px-4 py-10 text-center">
      {Icon ? <Icon size={28} strokeWidth={1.5} className="text-muted" aria-hidden /> : null}
      <p className="text-base font-medium">{title}</p>
      {children ? <div className="max-w-[60ch] text-sm text-muted">{children}</div> : null}
      {actions ? <div className="flex flex-wrap justify-center gap-2">{actions}</div> : null}
      {cli ? <ShellCommand cli={cli} /> : null}
    </div>
  );
}
