import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { useSession } from "@/api/session";
import { InviteButton } from "@/features/invites/Invite";
import { Card } from "@/parts/Card";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { SkeletonRows } from "@/parts/Skeleton";

/** The members of the tenant, by API keys and the audit log. */
export function Members() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["members"],
    queryFn: ({ signal }) => ask("/api/members", { signal }),
    retry: false,
  });
  const local = useSession()?.mode === "local";
  return (
    <Card title="Members" flush aside={local ? null : <InviteButton />}>
      <p className="border-b px-4 py-2 text-sm text-muted">
        {local
          ? "This server only listens on this machine: there is no sign-in, and everyone here is “local”."
          : "People sign in with an invitation, or with a token of your identity provider. These have used Foliot."}
      </p>
      {error ? (
        <div className="p-4">
          <ErrorCard error={error} what="Could not load members" onRetry={() => void refetch()} />
        </div>
      ) : isPending ? (
        <SkeletonRows rows={3} />
      ) : data.items.length ? (
        <ul className="divide-y">
          {data.items.map((item) => (
            <li key={item.user_id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <span className="w-56 min-w-0 truncate font-medium">{item.user_id}</span>
              <span className="w-40 text-muted">{item.roles.join(", ") || "–"}</span>
              <span className="text-xs text-muted">
                {item.keys ? `${item.keys} ${item.keys === 1 ? "key" : "keys"} · ` : ""}
                {item.last_action ? `${item.last_action.replaceAll("_", " ")} ` : ""}
                <Instant at={item.last_seen_at} none="not seen yet" />
              </span>
              <Link
                to={`/audit-log?user=${encodeURIComponent(item.user_id)}`}
                className="ml-auto text-xs text-accent hover:underline"
              >
                Audit log
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="No members yet" cli={local ? null : "invite eva --role operator"}>
          {local ? "People appear here once the server requires them to sign in." : "Invite the first one:"}
        </Empty>
      )}
    </Card>
  );
}
