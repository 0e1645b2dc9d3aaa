import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { SkeletonRows } from "@/parts/Skeleton";

import { fieldChanges } from "./changes";

const VERBS: Record<string, string> = {
  create: "created it",
  pause: "paused it",
  resume: "resumed it",
  delete: "deleted it",
  run_now: "ran it",
  patch: "changed it",
  replace: "changed it",
  tag: "tagged it",
  revert: "reverted an edit",
  test: "sent a test",
  update: "changed it",
};

/** The entries of the audit log that concern one schedule, newest first. */
export function ScheduleAuditLog({ id }: { id: string }) {
  const query = { thing: "schedule", thing_id: id, limit: 50 };
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["schedules", "audit_log", id],
    queryFn: ({ signal }) => ask("/api/audit", { query, signal }),
    retry: false,
  });
  if (isPending) return <SkeletonRows rows={4} />;
  if (error) return <ErrorCard error={error} what="Could not load the audit log" onRetry={() => void refetch()} />;
  if (!data.items.length) return <Empty title="No changes yet" />;
  return (
    <div className="overflow-hidden rounded-lg border">
      <ul className="divide-y">
        {data.items.map((entry) => {
          const changes = fieldChanges(entry.before, entry.after);
          return (
            <li key={entry.id} className="px-3 py-2">
              <p className="flex flex-wrap gap-x-2">
                <span className="font-medium">{entry.user_id || "unknown user"}</span>
                <span>{VERBS[entry.verb] ?? entry.verb.replaceAll("_", " ")}</span>
                <span className="text-muted">by {entry.door}</span>
                <span className="ml-auto text-muted">
                  <Instant at={entry.at} />
                </span>
              </p>
              {entry.verb !== "create" && changes.length ? (
                <ul className="mt-1 flex flex-col gap-0.5 font-mono text-xs break-all">
                  {changes.slice(0, 12).map((change) => (
                    <li key={change.field}>
                      <span className="text-muted">{change.field}</span>{" "}
                      <del className="text-failed-ink decoration-1">{change.before}</del> →{" "}
                      <ins className="text-success-ink no-underline">{change.after}</ins>
                    </li>
                  ))}
                </ul>
              ) : null}
            </li>
          );
        })}
      </ul>
      {data.next_cursor ? (
        <p className="border-t px-3 py-2">
          <Link to={`/audit-log?thing=schedule&thing_id=${id}`} className="text-accent hover:underline">
            View in audit log
          </Link>
        </p>
      ) : null}
    </div>
  );
}
