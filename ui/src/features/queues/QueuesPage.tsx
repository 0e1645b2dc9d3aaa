import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { usePermission } from "@/api/session";
import { WorkerTable } from "@/features/workers/WorkerTable";
import { Card } from "@/parts/Card";
import { CopyAs } from "@/parts/copy/CopyAs";
import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { millis, number } from "@/time/moment";

import { QueueCard } from "./QueueCard";
import { QueueTable } from "./QueueTable";
import { useQueueHistory } from "./useQueueHistory";

const PACE = 2000;

/** Queues and workers: depth, age, slots. */
export default function QueuesPage() {
  const [chosen, setChosen] = useUrl("queue");
  const mayReadSystem = usePermission("read:house");
  const queues = useQuery({
    queryKey: queryKeys.queues,
    queryFn: ({ signal }) => ask("/api/queues", { signal }),
    refetchInterval: PACE,
  });
  const workers = useQuery({
    queryKey: queryKeys.workers,
    queryFn: ({ signal }) => ask("/api/workers", { signal }),
    refetchInterval: PACE,
    enabled: mayReadSystem,
  });
  const items = queues.data?.items ?? [];
  const seen = useMemo(() => {
    if (!queues.data) return null;
    const at = queues.dataUpdatedAt;
    return Object.fromEntries(
      queues.data.items.map((item) => [
        item.name,
        { depth: item.depth, age: item.oldest ? Math.max(at - millis(item.oldest), 0) : 0 },
      ]),
    );
  }, [queues.data, queues.dataUpdatedAt]);
  const history = useQueueHistory(seen, queues.dataUpdatedAt);
  const busiest = [...items].sort((one, other) => other.depth - one.depth || other.in_flight - one.in_flight)[0];
  const shown = items.find((item) => item.name === chosen) ?? busiest;
  return (
    <Page
      title="Queues & workers"
      actions={<CopyAs call={{ verb: "List queues", method: "GET", path: "/api/queues", cli: "queue list" }} />}
    >
      <QueueTable
        queues={items}
        history={history}
        loading={queues.isPending}
        error={queues.error}
        onRetry={() => void queues.refetch()}
        onOpen={(name) => setChosen(name)}
      />
      {shown ? (
        <QueueCard queue={shown} live={history.get(shown.name) ?? []} kept={mayReadSystem} />
      ) : null}
      {mayReadSystem ? (
        <Card title="Workers" flush aside={workers.data ? `${number(workers.data.items.length)} known` : null}>
          {workers.error ? (
            <div className="p-4">
              <ErrorCard error={workers.error} what="Could not load workers" onRetry={() => void workers.refetch()} />
            </div>
          ) : workers.data ? (
            <WorkerTable workers={workers.data.items} />
          ) : (
            <div className="p-4" aria-busy>
              <Skeleton className="h-10 w-full" />
            </div>
          )}
        </Card>
      ) : null}
    </Page>
  );
}
