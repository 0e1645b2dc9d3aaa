import { Logo } from "@/parts/Logo";
import { Skeleton, SkeletonRows } from "@/parts/Skeleton";

import { GROUPS, PAGES } from "./navigation";

/** The frame before the server has said who is signed in: the same places, nothing to press yet. */
export function FrameSkeleton() {
  return (
    <div className="flex h-full" role="status" aria-label="Loading" aria-busy>
      <div className="hidden w-55 shrink-0 flex-col border-r bg-surface md:flex" aria-hidden>
        <div className="flex h-12 items-center px-4">
          <Logo />
        </div>
        {GROUPS.map((group) => (
          <div key={group} className="px-2 pb-2">
            <p className="px-2 py-1 text-xs text-muted">{group}</p>
            {PAGES.filter((page) => page.group === group).map(({ label, icon: Icon, to }) => (
              <p key={to} className="flex h-8 items-center gap-2.5 px-2 text-muted">
                <Icon size={16} strokeWidth={1.75} />
                {label}
              </p>
            ))}
          </div>
        ))}
      </div>
      <div className="flex min-w-0 flex-1 flex-col" aria-hidden>
        <div className="flex h-12 shrink-0 items-center border-b px-4">
          <Skeleton className="mx-auto h-8 w-full max-w-md" />
        </div>
        <div className="flex flex-col gap-4 px-4 py-4 md:px-6">
          <Skeleton className="h-7 w-48" />
          <Skeleton className="h-8 w-full" />
          <SkeletonRows rows={10} />
        </div>
      </div>
    </div>
  );
}
