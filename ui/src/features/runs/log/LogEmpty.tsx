import { useQuery } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { CopyButton } from "@/parts/copy/CopyButton";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { FINAL } from "@/parts/state/states";
import { number } from "@/time/moment";

/** Shown for an empty log: why there are no lines yet, or no longer. */
export function LogEmpty({ run, pruned, narrowed }: { run: Run; pruned: boolean; narrowed: boolean }) {
  if (narrowed) return <Empty title="No matching lines">Lower the level or show all lines.</Empty>;
  if (pruned)
    return (
      <Empty icon={ScrollText} title="The log was removed by retention">
        The run's attempts and outcome are still available.
      </Empty>
    );
  if (run.waiting)
    return (
      <Empty icon={ScrollText} title="Waiting for the target">
        <p>{run.waiting.message}</p>
        <Instant at={run.ready_at} as="relative" />
      </Empty>
    );
  if (run.state === "queued") return <Waiting run={run} />;
  if (run.state === "retrying") {
    return (
      <Empty icon={ScrollText} title={`Attempt ${run.attempt + 1} of ${run.max_attempts} starts soon`}>
        <Instant at={run.ready_at} as="relative" />
      </Empty>
    );
  }
  if (FINAL.has(run.state)) {
    return (
      <Empty icon={ScrollText} title="No log output">
        {run.kind === "webhook" ? "See Attempts for the request and response." : "See Result for the outcome."}
      </Empty>
    );
  }
  return (
    <Empty icon={ScrollText} title="No log output yet">
      Lines appear here as they are written.
    </Empty>
  );
}

function Waiting({ run }: { run: Run }) {
  const { data } = useQuery({
    queryKey: queryKeys.queues,
    queryFn: ({ signal }) => ask("/api/queues", { signal }),
  });
  const queue = data?.items.find((item) => item.name === run.queue);
  const command = `foliot worker --queues ${run.queue}`;
  return (
    <Empty icon={ScrollText} title={`Waiting for a worker in queue ${run.queue}`}>
      {queue ? (
        <p>
          {number(queue.depth)} {queue.depth === 1 ? "run waits" : "runs wait"}
          {queue.oldest ? (
            <>
              , the oldest for <Duration since={queue.oldest} />
            </>
          ) : null}
          .
        </p>
      ) : null}
      {queue?.paused_at ? (
        <p>The queue is paused{queue.reason ? `: ${queue.reason}` : ""}. Runs start when the queue is resumed.</p>
      ) : null}
      {queue?.workers?.length === 0 ? (
        <p className="mt-2 flex items-center justify-center gap-2">
          No worker serves it. Start one: <code className="font-mono">{command}</code>{" "}
          <CopyButton size="small" text={command} />
        </p>
      ) : null}
    </Empty>
  );
}
