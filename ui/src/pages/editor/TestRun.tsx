import { useQuery, useQueryClient } from "@tanstack/react-query";

import type { Run } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useTopic } from "@/live/live";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { Go } from "@/parts/Go";
import { StateBadge } from "@/parts/StateBadge";
import { FINAL } from "@/words/states";

/** A test run, followed until it has ended. */
export function TestRun({ id }: { id: string }) {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: keys.run(id),
    queryFn: ({ signal }) => ask<Run>(`/api/runs/${id}`, { signal }),
    refetchInterval: (query) => (query.state.data && FINAL.has(query.state.data.state) ? false : 3000),
  });
  useTopic(`run:${id}`, (told) => {
    if (told.data) queries.setQueryData(keys.run(id), told.data as Run);
  });
  const response = data?.attempts.at(-1)?.response;
  const status = response && typeof response.status === "number" ? response.status : null;
  return (
    <Card
      title="Test run"
      aside={
        <Go to={`/runs/${id}`} className="text-accent hover:underline">
          Open the run
        </Go>
      }
    >
      {data ? (
        <div className="flex flex-col gap-2" aria-live="polite">
          <p className="flex flex-wrap items-center gap-2">
            <StateBadge
              state={data.state}
              note={data.attempt > 1 ? `attempt ${data.attempt} of ${data.max_attempts}` : undefined}
            />
            {status ? <span>answered {status}</span> : null}
            <span className="text-muted">
              {FINAL.has(data.state) ? (
                <Duration ms={data.duration_ms} />
              ) : data.started_at ? (
                <Duration since={data.started_at} />
              ) : (
                "waits for a worker"
              )}
            </span>
          </p>
          {data.error ? <p className="break-words text-failed-ink">{data.error.message}</p> : null}
          {data.result !== null && data.result !== undefined ? (
            <pre
              tabIndex={0}
              className="max-h-40 overflow-auto rounded bg-surface p-2 font-mono text-xs break-all whitespace-pre-wrap"
            >
              {JSON.stringify(data.result, null, 2).slice(0, 4000)}
            </pre>
          ) : null}
        </div>
      ) : (
        <p className="text-muted">It begins…</p>
      )}
    </Card>
  );
}
