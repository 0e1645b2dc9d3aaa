import type { ReactNode } from "react";

import { cx } from "./cx";

/** A framed section with a heading of its own. */
export function Card({
  title,
  aside,
  children,
  className,
  flush,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
  /** No padding: for tables and lists. */
  flush?: boolean;
}) {
  return (
    <section className={cx("min-w-0 rounded-lg border bg-bg", className)}>
      {title || aside ? (
        <div className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5">
          <h2 className="text-sm font-semibold">{title}</h2>
          {aside ? <div className="ml-auto flex items-center gap-2 text-xs text-muted">{aside}</div> : null}
        </div>
      ) : null}
      <div className={flush ? undefined : "p-4"}>{children}</div>
    </section>
  );
}
