import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";

import { ClockChanges } from "../preview/ClockChanges";
import { FireTable } from "../preview/FireTable";
import { previewQuery, triggerOf } from "../queries";

/** The next fires in the schedule's zone and the viewer's, with notes on clock changes. */
export function NextFires({ schedule }: { schedule: Schedule }) {
  const [count, setCount] = useState(5);
  // An interval counts from its start, so its instants follow from the next one.
  const cursor = schedule.skips?.at ?? schedule.next_run_at;
  const from = cursor && schedule.type === "interval" ? { start_at: cursor } : {};
  const { data, error, refetch } = useQuery({
    ...previewQuery({ ...triggerOf(schedule), ...from, count: 20 }),
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  });
  const over = schedule.status === "completed" || schedule.status === "deleted";
  const next = data?.next.filter((fire) => Date.parse(fire.at) > Date.now() - 1000) ?? [];
  return (
    <Card title={schedule.status === "paused" ? "Next runs if resumed" : "Next runs"}>
      {over ? (
        <p className="text-muted">
          {schedule.status === "deleted"
            ? "This schedule is deleted and will not run again."
            : "All scheduled times have passed."}
        </p>
      ) : schedule.after ? (
        <p className="text-muted">
          {schedule.summary}: a run starts immediately
          {schedule.after.all && schedule.after.schedule.length > 1 ? ", once each of them has ended a run" : ""}.
        </p>
      ) : error ? (
        <ErrorCard error={error} what="Could not compute the next runs" onRetry={() => void refetch()} />
      ) : data ? (
        <div className="flex flex-col gap-3">
          <FireTable fires={next.slice(0, count)} zone={schedule.timezone} skips={schedule.skips} />
          {next.length > count ? (
            <Button size="small" kind="quiet" className="self-start" onClick={() => setCount(20)}>
              Show {Math.min(next.length, 20)}
            </Button>
          ) : null}
          <ClockChanges notes={data.notes} />
        </div>
      ) : (
        <div className="flex flex-col gap-3">
          {[0, 1, 2, 3, 4].map((row) => (
            <Skeleton key={row} className="h-4 w-full" />
          ))}
        </div>
      )}
    </Card>
  );
}
