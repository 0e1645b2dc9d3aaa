import { useQuery, useQueryClient } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { useTopic } from "@/live/live";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { Link } from "@/parts/Link";
import { StateBadge } from "@/parts/state/StateBadge";
import { FINAL } from "@/parts/state/states";

/** A trial of the form, its live state and the answer; only the run is kept. */
export function TestRun({ id }: { id: string }) {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: queryKeys.run(id),
    queryFn: ({ signal }) => ask("/api/runs/{run_id}", { params: { run_id: id }, signal }),
    refetchInterval: (query) => (query.state.data && FINAL.has(query.state.data.state) ? false : 3000),
  });
  useTopic(`run:${id}`, (message) => {
    if (message.data) queries.setQueryData(queryKeys.run(id), message.data as Run);
  });
  const response = data?.attempts.at(-1)?.response;
  const status = response && typeof response.status === "number" ? response.status : null;
  const body = bodyOf(response?.body);
  return (
    <Card
      title="Test run"
      aside={
        <Link to={`/runs/${id}`} className="text-accent hover:underline">
          View run
        </Link>
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
                "waiting for a worker"
              )}
            </span>
          </p>
          {data.error ? <p className="break-words text-failed-ink">{data.error.message}</p> : null}
          {body ? (
            <pre
              tabIndex={0}
              aria-label="Response body"
              className="max-h-60 overflow-auto rounded bg-surface p-2 font-mono text-xs break-all whitespace-pre-wrap"
            >
              {body}
            </pre>
          ) : null}
          {!body && data.result !== null && data.result !== undefined ? (
            <pre
              tabIndex={0}
              className="max-h-40 overflow-auto rounded bg-surface p-2 font-mono text-xs break-all whitespace-pre-wrap"
            >
              {JSON.stringify(data.result, null, 2).slice(0, 4000)}
            </pre>
          ) : null}
        </div>
      ) : (
        <p className="text-muted">Starting…</p>
      )}
    </Card>
  );
}

const MOST = 4000;

/** The body of the answer, formatted when it is JSON. */
function bodyOf(body: unknown): string {
  if (body === undefined || body === null || body === "") return "";
  const text = typeof body === "string" ? body : JSON.stringify(body);
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, MOST);
  } catch {
    return text.slice(0, MOST);
  }
}
