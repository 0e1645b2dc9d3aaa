import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { Card } from "@/parts/Card";
import { diffLines } from "@/parts/diff/diff";
import { DiffText, DiffView } from "@/parts/diff/DiffView";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { StateBadge } from "@/parts/state/StateBadge";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { titleTime } from "@/time/moment";

import { TimingBar } from "../detail/TimingBar";
import { comparedFacts, exchangeOf, logText, sorted } from "./facts";

const CHOICES = 30;
const LINES = 500;

/** This run beside another of the same schedule: facts, timing, request, answer and log. */
export function CompareTab({ run }: { run: Run }) {
  const zone = useZone();
  const now = Date.now();
  const [chosen, setChosen] = useUrl("with");
  const q = run.schedule_id ? `schedule:${run.schedule_id}` : `kind:${run.kind}`;
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", "to-compare", run.id, q],
    queryFn: async ({ signal }) => {
      const [recent, good] = await Promise.all([
        ask("/api/runs", { query: { q, limit: CHOICES }, signal }),
        ask("/api/runs", { query: { q: `${q} state:success`, limit: 1 }, signal }),
      ]);
      const known = new Map([...recent.items, ...good.items].map((one) => [one.id, one]));
      known.delete(run.id);
      return { runs: [...known.values()], good: good.items.find((one) => one.id !== run.id) };
    },
  });
  const id = chosen || data?.good?.id || data?.runs[0]?.id || "";
  const other = useQuery({
    queryKey: queryKeys.run(id),
    queryFn: ({ signal }) => ask("/api/runs/{run_id}", { params: { run_id: id }, signal }),
    enabled: id !== "",
  });
  if (error) return <ErrorCard error={error} what="Could not load runs to compare" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton className="h-40 w-full" />;
  if (!id)
    return (
      <Empty title="Nothing to compare with">
        This is the only run of its schedule so far. Start another with Run now on the schedule&apos;s page.
      </Empty>
    );
  return (
    <div className="flex flex-col gap-4">
      <label className="flex flex-wrap items-center gap-2">
        Compare with
        <select
          value={id}
          onChange={(event) => setChosen(event.target.value)}
          className="h-8 max-w-full rounded border bg-bg px-2"
        >
          {data.runs.some((one) => one.id === id) ? null : <option value={id}>{id}</option>}
          {data.runs.map((one) => (
            <option key={one.id} value={one.id}>
              {titleTime(one.scheduled_for ?? one.created_at, zone, now)} – {one.state.replace("_", " ")}
              {one.id === data.good?.id ? " (last success)" : ""}
            </option>
          ))}
        </select>
      </label>
      {other.error ? (
        <ErrorCard error={other.error} what="Could not load the other run" onRetry={() => void other.refetch()} />
      ) : other.data ? (
        <Comparison run={run} other={other.data} />
      ) : (
        <Skeleton className="h-40 w-full" />
      )}
    </div>
  );
}

function Comparison({ run, other }: { run: Run; other: Run }) {
  const zone = useZone();
  const facts = comparedFacts(run, other, zone, Date.now());
  const [mine, theirs] = [run.attempts.at(-1)?.timing, other.attempts.at(-1)?.timing];
  return (
    <>
      <div className="overflow-x-auto rounded-lg border">
        <table className="w-full text-left">
          <thead className="border-b bg-surface text-xs text-muted">
            <tr>
              <th scope="col" className="px-3 py-2 font-medium">
                <span className="sr-only">Fact</span>
              </th>
              <th scope="col" className="px-3 py-2 font-medium">
                This run <StateBadge state={run.state} still />
              </th>
              <th scope="col" className="px-3 py-2 font-medium">
                <Link to={`/runs/${other.id}`} className="underline">
                  Other run
                </Link>{" "}
                <StateBadge state={other.state} still />
              </th>
            </tr>
          </thead>
          <tbody>
            {facts.map((fact) => (
              <tr key={fact.name} className="border-b border-line/60 last:border-0">
                <th scope="row" className="px-3 py-1 text-xs font-normal whitespace-nowrap text-muted">
                  {fact.name}
                </th>
                <td className={`px-3 py-1 ${fact.differs ? "font-medium" : "text-muted"}`}>{fact.one}</td>
                <td className={`px-3 py-1 ${fact.differs ? "font-medium" : "text-muted"}`}>{fact.other}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {mine || theirs ? (
        <Card title="Timing of the last attempt">
          <div className="grid gap-4 md:grid-cols-2">
            <div>{mine ? <TimingBar timing={mine} /> : <p className="text-muted">Not measured</p>}</div>
            <div>{theirs ? <TimingBar timing={theirs} /> : <p className="text-muted">Not measured</p>}</div>
          </div>
        </Card>
      ) : null}
      <p className="text-xs text-muted">
        <DiffText fate="gone" text="struck through" />: only in the other run ·{" "}
        <DiffText fate="came" text="underlined" />: only in this run
      </p>
      <Difference title="Payload" before={sorted(other.action)} after={sorted(run.action)} />
      <Difference title="Request" before={exchangeOf(other, "request")} after={exchangeOf(run, "request")} />
      <Difference title="Response" before={exchangeOf(other, "response")} after={exchangeOf(run, "response")} />
      <Difference title="Result" before={sorted(other.result)} after={sorted(run.result)} />
      <LogDifference run={run} other={other} />
    </>
  );
}

function Difference({ title, before, after }: { title: string; before: string; after: string }) {
  const hunks = useMemo(() => diffLines(before, after), [before, after]);
  const nothing = (text: string): boolean => !text || text === "null";
  if (nothing(before) && nothing(after)) return null;
  return (
    <Card title={title} aside={before === after ? "identical" : undefined}>
      {before === after ? null : (
        <div className="flex flex-col gap-1 overflow-x-auto font-mono text-xs [overflow-wrap:anywhere]">
          <DiffView all={hunks} />
        </div>
      )}
    </Card>
  );
}

function LogDifference({ run, other }: { run: Run; other: Run }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", "log-compare", run.id, other.id, run.state],
    queryFn: ({ signal }) =>
      Promise.all(
        [run, other].map((one) =>
          ask("/api/runs/{run_id}/logs", { params: { run_id: one.id }, query: { limit: LINES, after: 0 }, signal }),
        ),
      ),
  });
  if (error) return <ErrorCard error={error} what="Could not load the logs" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton className="h-24 w-full" />;
  const [mine, theirs] = data;
  return (
    <Difference title="Log, without times" before={logText(theirs?.items ?? [])} after={logText(mine?.items ?? [])} />
  );
}
