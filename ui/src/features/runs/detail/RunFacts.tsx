import type { ReactNode } from "react";

import type { Run } from "@/api/schema";
import { Duration } from "@/parts/Duration";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Kind } from "@/parts/state/Kind";
import { StateBadge } from "@/parts/state/StateBadge";
import { FINAL } from "@/parts/state/states";
import { duration } from "@/time/moment";

/** The facts of a run in one line: state, queue, worker, and its scheduled, started and finished times. */
export function RunFacts({ run }: { run: Run }) {
  const open = !FINAL.has(run.state);
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-1.5">
      <StateBadge state={run.state} />
      {run.cancel_requested && open ? <span className="text-attention-ink">cancelling</span> : null}
      {run.attempt ? (
        <Fact name="attempt">
          {run.attempt} of {run.max_attempts}
        </Fact>
      ) : null}
      {run.scheduled_for ? (
        <Fact name="scheduled">
          <Instant at={run.scheduled_for} as="short" precision="second" />
        </Fact>
      ) : (
        <Fact name={run.origin === "after" ? "created" : "requested"}>
          <Instant at={run.created_at} as="short" precision="second" />
        </Fact>
      )}
      {run.started_at ? (
        <Fact name="started">
          <Instant at={run.started_at} as="short" precision="second" />
          {run.lateness_ms !== null ? (
            <span className={run.lateness_ms > 60_000 ? "text-attention-ink" : "text-muted"}>
              {" "}
              ({duration(run.lateness_ms)} late)
            </span>
          ) : null}
        </Fact>
      ) : null}
      {run.finished_at ? (
        <Fact name="finished">
          <Instant at={run.finished_at} as="short" precision="second" />
        </Fact>
      ) : null}
      {run.started_at ? (
        <Fact name={open ? "elapsed" : "duration"}>
          {open ? <Duration since={run.started_at} /> : <Duration ms={run.duration_ms} />}
        </Fact>
      ) : null}
      {run.state === "retrying" ? (
        <Fact name="next attempt">
          <Instant at={run.ready_at} as="relative" />
        </Fact>
      ) : null}
      {run.waiting ? (
        <Fact name="waiting">
          <span className="text-attention-ink">{run.waiting.message}</span>
        </Fact>
      ) : null}
      <Kind kind={run.kind} />
      <Fact name="queue">
        <Link to={`/queues?queue=${encodeURIComponent(run.queue)}`} className="hover:underline">
          {run.queue}
        </Link>{" "}
        <span className="text-muted">· priority {run.priority}</span>
      </Fact>
      {run.schedule_version !== null ? <Fact name="settings">version {run.schedule_version}</Fact> : null}
      {run.worker ? (
        <Fact name="worker">
          <span className="font-mono text-xs">{run.worker}</span>
        </Fact>
      ) : null}
      {run.parent_id ? (
        <Fact name={run.origin === "after" ? "follows" : "replay of"}>
          <Link to={`/runs/${run.parent_id}`} className="underline">
            {run.origin === "after" ? "parent run" : "original run"}
          </Link>
        </Fact>
      ) : null}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="whitespace-nowrap">
      <span className="text-muted">{name} </span>
      {children}
    </span>
  );
}
