import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { ErrorCard } from "@/parts/ErrorCard";
import { shortId } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { Kind } from "@/parts/state/Kind";
import { StateIcon } from "@/parts/state/StateBadge";

const FEW = 6;

/** The runs that are executed now, or the last that failed. */
export function RunList({ title, q, empty }: { title: string; q: string; empty: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", "few", q],
    queryFn: ({ signal }) => ask("/api/runs", { query: { q, limit: FEW }, signal }),
  });
  return (
    <Card
      flush
      title={title}
      aside={
        <Link to={`/runs?q=${encodeURIComponent(q)}`} className="hover:text-ink hover:underline">
          All
        </Link>
      }
    >
      {error && !data ? (
        <div className="p-3">
          <ErrorCard error={error} onRetry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className="flex flex-col gap-3 p-4">
          <Skeleton className="h-4 w-2/3" />
          <Skeleton className="h-4 w-1/2" />
        </div>
      ) : data.items.length ? (
        <ul className="divide-y">
          {data.items.map((run) => (
            <li key={run.id}>
              <Link to={`/runs/${run.id}`} className="flex items-center gap-3 px-4 py-1.5 hover:bg-surface">
                <StateIcon state={run.state} />
                <span className="min-w-0 flex-1 truncate">
                  {run.schedule_name ?? shortId(run.id)}
                  {run.error ? <span className="text-muted"> · {run.error.message}</span> : null}
                </span>
                <span className="text-xs max-md:hidden">
                  <Kind kind={run.kind} />
                </span>
                <span className="text-muted">
                  {run.finished_at ? (
                    <Instant at={run.finished_at} as="relative" />
                  ) : run.started_at ? (
                    <Duration since={run.started_at} />
                  ) : (
                    "queued"
                  )}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <p className="px-4 py-3 text-muted">{empty}</p>
      )}
    </Card>
  );
}
