import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Page as PageOf, Queue, Worker } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useMay } from "@/api/session";
import { Card } from "@/parts/Card";
import { Chart } from "@/parts/Chart";
import { CopyAs } from "@/parts/CopyAs";
import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { clock, duration, mark, millis, number } from "@/time/moment";

import { Lines } from "./queues/Lines";
import { Paused, QueueTable } from "./queues/QueueTable";
import { useHistory } from "./queues/useHistory";
import { WorkerTable } from "./queues/WorkerTable";

const PACE = 2000;

/** Whether the workers keep up. */
export default function Queues() {
  const zone = useZone();
  const [chosen, setChosen] = useUrl("queue");
  const mayHouse = useMay("read:house");
  const queues = useQuery({
    queryKey: keys.queues,
    queryFn: ({ signal }) => ask<PageOf<Queue>>("/api/queues", { signal }),
    refetchInterval: PACE,
  });
  const workers = useQuery({
    queryKey: keys.workers,
    queryFn: ({ signal }) => ask<PageOf<Worker>>("/api/workers", { signal }),
    refetchInterval: PACE,
    enabled: mayHouse,
  });
  const items = queues.data?.items ?? [];
  const seen = useMemo(() => {
    if (!queues.data) return null;
    const at = queues.dataUpdatedAt;
    return Object.fromEntries(
      queues.data.items.map((one) => [
        one.name,
        { depth: one.depth, age: one.oldest ? Math.max(at - millis(one.oldest), 0) : 0 },
      ]),
    );
  }, [queues.data, queues.dataUpdatedAt]);
  const history = useHistory(seen, queues.dataUpdatedAt);
  const busiest = [...items].sort((one, other) => other.depth - one.depth || other.in_flight - one.in_flight)[0];
  const shown = items.find((one) => one.name === chosen) ?? busiest;
  const samples = shown ? (history.get(shown.name) ?? []) : [];
  return (
    <Page
      title="Queues & workers"
      actions={<CopyAs call={{ method: "GET", path: "/api/queues", cli: "queue list" }} />}
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
        <Chart
          title={`${shown.name}: waiting (line) and age of the oldest (dashed)`}
          aside={<span className="max-md:hidden">{mark(Date.now(), zone)} · since this page was opened</span>}
          head={[`Seen (${mark(Date.now(), zone)})`, "Waiting", "Oldest"]}
          rows={() =>
            samples.slice(-60).map((one) => [clock(one.at, zone, "second"), number(one.depth), duration(one.age)])
          }
        >
          <Paused queue={shown} />
          <Lines samples={samples} label={`Waiting in ${shown.name}: ${number(shown.depth)} now`} />
        </Chart>
      ) : null}
      {mayHouse ? (
        <Card title="Workers" flush aside={workers.data ? `${number(workers.data.items.length)} known` : null}>
          {workers.error ? (
            <div className="p-4">
              <ErrorCard
                error={workers.error}
                what="The workers could not be read"
                onRetry={() => void workers.refetch()}
              />
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
