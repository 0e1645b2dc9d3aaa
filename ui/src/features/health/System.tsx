import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { DatabaseHealth } from "@/api/schema";
import { usePermission, useSession } from "@/api/session";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { StateIcon } from "@/parts/state/StateBadge";
import { bytes } from "@/time/format";
import { number } from "@/time/moment";

const LIMITS = [
  ["schedules", "Schedules"],
  ["concurrent_runs", "Concurrent runs"],
  ["streams", "Open streams"],
] as const;

/** The size of the database's file and the space beside it, where the database is a file. */
/** How processes tell each other that something has changed. */
const FEEDS: Record<string, string> = {
  memory: "within this process",
  postgresql: "through PostgreSQL",
  redis: "through Redis",
};

const diskNote = (disk: DatabaseHealth["disk"]): string =>
  disk?.bytes ? ` · ${bytes(Number(disk.bytes))}, ${bytes(Number(disk.free ?? 0))} free` : "";

/** Version, settings, limits and health of this server. */
export function System() {
  const session = useSession();
  const mayReadSystem = usePermission("read:house");
  const health = useQuery({
    queryKey: queryKeys.health,
    queryFn: ({ signal }) => ask("/health/detailed", { signal }),
    refetchInterval: 10_000,
    enabled: mayReadSystem,
    retry: false,
  });
  const use = useQuery({
    queryKey: ["limits"],
    queryFn: ({ signal }) => ask("/api/limits", { signal }),
    retry: false,
  });
  return (
    <>
      <Card title="You">
        <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-1 text-sm">
          <Fact name="Name">{session?.user_id ?? "–"}</Fact>
          <Fact name="Tenant">{session?.tenant_id ?? "–"}</Fact>
          <Fact name="Role">{session?.role ?? "–"}</Fact>
          <Fact name="Signed in by">{session?.mode === "local" ? "local access" : "a token or an API key"}</Fact>
        </dl>
      </Card>
      <Card title="Tenant limits">
        {use.data ? (
          <dl className="flex flex-col gap-3 text-sm">
            {LIMITS.map(([name, label]) => {
              const most = use.data.limits[name];
              const used = use.data.used[name];
              return (
                <div key={name} className="flex flex-wrap items-center gap-x-4 gap-y-1">
                  <dt className="w-36 text-muted">{label}</dt>
                  <dd className="flex flex-1 items-center gap-3">
                    <span className="w-40">
                      {number(used)} {most === null ? "· no limit" : `of ${number(most)}`}
                    </span>
                    {most === null ? null : (
                      <span aria-hidden className="h-1.5 max-w-60 flex-1 overflow-hidden rounded-full bg-line">
                        <span
                          className="block h-full bg-accent"
                          style={{ width: `${Math.min((used / Math.max(most, 1)) * 100, 100)}%` }}
                        />
                      </span>
                    )}
                  </dd>
                </div>
              );
            })}
          </dl>
        ) : use.error ? (
          <ErrorCard error={use.error} what="Could not load limits" onRetry={() => void use.refetch()} />
        ) : (
          <Skeleton className="h-16 w-full" />
        )}
      </Card>
      {mayReadSystem ? (
        <Card title="System" aside={health.data ? `Foliot ${health.data.version}` : null}>
          {health.data ? (
            <ul className="flex flex-col gap-2 text-sm">
              <Line good={health.data.database.status === "ok"} name="Database">
                {health.data.database.error ?? `latency ${health.data.database.latency_ms?.toFixed(1) ?? "–"} ms`}
                {diskNote(health.data.database.disk)}
              </Line>
              {health.data.feed ? (
                <Line good={health.data.feed.connected} name="Wake-ups">
                  {health.data.feed.error ?? FEEDS[health.data.feed.kind] ?? health.data.feed.kind}
                </Line>
              ) : null}
              {health.data.broker ? (
                <Line good={health.data.broker.publishing} name="Broker">
                  {health.data.broker.error ?? health.data.broker.url}
                </Line>
              ) : null}
              {health.data.scrapyd.map((node) => (
                <Line key={node.url} good={node.status === "ok"} name="Scrapyd">
                  {node.url} ·{" "}
                  {node.error ?? `${number(node.running ?? 0)} running, ${number(node.pending ?? 0)} waiting`}
                </Line>
              ))}
              {health.data.problems.map((problem) => (
                <li key={problem} className="text-attention-ink">
                  {problem}
                </li>
              ))}
            </ul>
          ) : health.error ? (
            <ErrorCard error={health.error} what="Could not load system health" onRetry={() => void health.refetch()} />
          ) : (
            <Skeleton className="h-16 w-full" />
          )}
          <p className="mt-4 text-xs text-muted">
            Prometheus metrics:{" "}
            <a className="underline hover:text-ink" href="/metrics">
              /metrics
            </a>{" "}
            · API reference:{" "}
            <a className="underline hover:text-ink" href="/docs">
              /docs
            </a>
          </p>
        </Card>
      ) : null}
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Line({ good, name, children }: { good: boolean; name: string; children: React.ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-2">
      <StateIcon state={good ? "success" : "failed"} />
      <span className="w-24 font-medium">{name}</span>
      <span className="min-w-0 break-words text-muted">{children}</span>
    </li>
  );
}
