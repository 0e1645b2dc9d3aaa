import { cx } from "./cx";

/** A placeholder of the final size, so that the layout does not shift. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={cx("animate-pulse-soft rounded-sm bg-line", className ?? "h-3 w-24")} />;
}

export function SkeletonRows({ rows = 12 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="divide-y">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex h-(--row) items-center gap-6 px-3">
          <Skeleton className="h-3 w-4" />
          <Skeleton className={cx("h-3", ["w-48", "w-36", "w-56", "w-40"][row % 4])} />
          <Skeleton className="hidden h-3 w-32 md:block" />
          <Skeleton className="hidden h-3 w-20 md:block" />
          <Skeleton className="ml-auto h-3 w-16" />
        </div>
      ))}
    </div>
  );
}
