import { ChevronRight } from "lucide-react";
import { Fragment, type ReactNode, useEffect } from "react";

import { cx } from "./cx";
import { Link } from "./Link";
import { useTitle } from "./useTitle";

export interface Crumb {
  label: string;
  to: string;
}

export interface PageProps {
  title: string;
  /** The title of the browser tab, when it differs: `nightly-prices · failed`. */
  tab?: string;
  /** The state whose colour the tab's icon shows. */
  state?: string;
  crumbs?: Crumb[];
  /** Beside the title: badges, counts. */
  aside?: ReactNode;
  actions?: ReactNode;
  /** The page's content fills the height and scrolls by itself (lists, logs). */
  fill?: boolean;
  children: ReactNode;
}

/** The layout of a page: heading, actions, tab title. */
export function Page({ title, tab, state, crumbs = [], aside, actions, fill, children }: PageProps) {
  useTitle(tab ?? title, state);
  useEffect(() => {
    const main = document.getElementById("main");
    main?.focus({ preventScroll: true });
    main?.scrollTo({ top: 0 });
  }, []);
  return (
    <div
      className={cx(
        "mx-auto flex w-full max-w-[1600px] flex-col px-4 md:px-6",
        fill ? "h-full min-h-0 gap-2 py-3" : "gap-4 py-4",
      )}
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="flex min-w-0 flex-wrap items-center gap-x-1.5 text-xl font-semibold">
          {crumbs.map((crumb) => (
            <Fragment key={crumb.to}>
              <Link to={crumb.to} className="text-muted hover:text-ink">
                {crumb.label}
              </Link>
              <ChevronRight size={16} className="text-muted" aria-hidden />
            </Fragment>
          ))}
          <span className="min-w-0 break-all">{title}</span>
        </h1>
        {aside}
        {actions ? <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div> : null}
      </header>
      {children}
    </div>
  );
}
