import type { HistoryRange, QueueHistory, QueueStatus } from "@/api/schema";
import { Chart } from "@/parts/chart/Chart";
import { Sparkline } from "@/parts/chart/Sparkline";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { clock, duration, mark, millis, number, short } from "@/time/moment";

import { QueueChart } from "./QueueChart";
import { Paused } from "./QueueTable";
import { type Sample, useKeptHistory } from "./useQueueHistory";

type Range = "live" | HistoryRange;

const RANGES = [
  ["live", "Live"],
  ["24h", "24 h"],
  ["7d", "7 d"],
] as const;

/** What waits in one queue and for how long: live, or over the last day or week. */
export function QueueCard({
  queue,
  live,
  kept,
}: {
  queue: QueueStatus;
  live: readonly Sample[];
  /** Whether the caller may read the history that the server keeps. */
  kept: boolean;
}) {
  const zone = useZone();
  const [text, setText] = useUrl("range");
  const range: Range = kept && (text === "24h" || text === "7d") ? text : "live";
  const history = useKeptHistory(range === "live" ? "24h" : range, range !== "live");
  const samples = range === "live" ? live : samplesOf(history.data, queue.name);
  const time = (at: number): string => (range === "live" ? clock(at, zone, "second") : short(at, zone, Date.now()));
  return (
    <Chart
      title={`${queue.name}: waiting (line) and age of the oldest (dashed)`}
      aside={
        <>
          <span className="max-md:hidden">
            {mark(Date.now(), zone)}
            {range === "live" ? " · since this page was opened" : ` · highest per ${range === "24h" ? "15 min" : "hour"}`}
          </span>
          {kept ? (
            <Segments
              label="Range"
              value={range}
              choices={RANGES}
              onChange={(chosen) => setText(chosen === "live" ? "" : chosen)}
            />
          ) : null}
        </>
      }
      head={[`Time (${mark(Date.now(), zone)})`, "Waiting", "Oldest"]}
      rows={() =>
        samples
          .filter((sample) => sample.depth !== null)
          .slice(range === "live" ? -60 : 0)
          .map((sample) => [time(sample.at), number(sample.depth ?? 0), duration(sample.age)])
      }
    >
      <Paused queue={queue} />
      {range !== "live" && history.error ? (
        <ErrorCard error={history.error} what="Could not load the history" onRetry={() => void history.refetch()} />
      ) : range !== "live" && !history.data ? (
        <Skeleton className="h-40 w-full" />
      ) : (
        <QueueChart
          samples={samples}
          label={`Waiting in ${queue.name}: ${number(queue.depth)} now`}
          kept={range !== "live"}
        />
      )}
      {range === "live" || !history.data ? null : <Throughput history={history.data} name={queue.name} />}
    </Chart>
  );
}

/** How many runs of the queue ended and were running, and how many slots of all workers were busy. */
function Throughput({ history, name }: { history: QueueHistory; name: string }) {
  const series = history.queues.find((one) => one.name === name);
  const step = history.range === "24h" ? "15 min" : "hour";
  const slots = Math.max(...history.slots.map((value) => value ?? 0), 0);
  const rows = [
    [`Ended per ${step}`, series?.ended ?? [], number],
    ["Running, highest", series?.running ?? [], number],
    [`Slots busy, of ${number(slots)} in all queues`, history.busy, number],
  ] as const;
  return (
    <div className="mt-3 grid gap-4 md:grid-cols-3">
      {rows.map(([label, values, scale]) => (
        <div key={label}>
          <p className="mb-1 text-xs text-muted">{label}</p>
          <Sparkline values={values} label={label} scale={scale} />
        </div>
      ))}
    </div>
  );
}

function samplesOf(history: QueueHistory | undefined, name: string): Sample[] {
  const series = history?.queues.find((one) => one.name === name);
  return (history?.at ?? []).map((at, place) => ({
    at: millis(at),
    depth: series?.waiting[place] ?? null,
    age: series?.oldest_ms[place] ?? null,
  }));
}
