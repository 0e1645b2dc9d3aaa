import { useQuery } from "@tanstack/react-query";

import type { Member } from "@/api/calls";
import { ask } from "@/api/client";
import { Card } from "@/parts/Card";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Go } from "@/parts/Go";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";

/** Who has been here, as keys and the audit log tell it. */
export function Members() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["members"],
    queryFn: ({ signal }) => ask<{ items: Member[] }>("/api/members", { signal }),
    retry: false,
  });
  return (
    <Card title="Members" flush>
      <p className="border-b px-4 py-2 text-sm text-muted">
        People come in with tokens of your identity provider, or of <code className="font-mono">foliot token</code>;
        there is nobody to invite here. These have left a trace.
      </p>
      {error ? (
        <div className="p-4">
          <ErrorCard error={error} what="The members could not be read" onRetry={() => void refetch()} />
        </div>
      ) : isPending ? (
        <SkeletonRows rows={3} />
      ) : data.items.length ? (
        <ul className="divide-y">
          {data.items.map((one) => (
            <li key={one.user_id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <span className="w-56 min-w-0 truncate font-medium">{one.user_id}</span>
              <span className="w-40 text-muted">{one.roles.join(", ") || "–"}</span>
              <span className="text-xs text-muted">
                {one.keys ? `${one.keys} ${one.keys === 1 ? "key" : "keys"} · ` : ""}
                {one.last_action ? `${one.last_action.replaceAll("_", " ")} ` : ""}
                <Instant at={one.last_seen_at} none="not seen yet" />
              </span>
              <Go
                to={`/activity?user=${encodeURIComponent(one.user_id)}`}
                className="ml-auto text-xs text-accent hover:underline"
              >
                What they did
              </Go>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="Nobody has left a trace yet" />
      )}
    </Card>
  );
}
