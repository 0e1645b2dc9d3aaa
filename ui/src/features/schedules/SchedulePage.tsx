import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { ProblemError } from "@/api/problem";
import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { Skeleton, SkeletonRows } from "@/parts/Skeleton";

import { ScheduleDetail } from "./detail/ScheduleDetail";
import { scheduleQuery } from "./queries";
import { ScheduleNotFound } from "./ScheduleNotFound";

const CRUMBS = [{ label: "Schedules", to: "/schedules" }];

export default function SchedulePage() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const { data, error, refetch } = useQuery(scheduleQuery(id));
  if (data) return <ScheduleDetail key={id} schedule={data} error={error} crumbs={CRUMBS} />;
  if (error instanceof ProblemError && error.status === 404) return <ScheduleNotFound id={id} crumbs={CRUMBS} />;
  return (
    <Page title={error ? id : "…"} crumbs={CRUMBS}>
      {error ? (
        <ErrorCard error={error} what="Could not load the schedule" onRetry={() => void refetch()} />
      ) : (
        <>
          <Skeleton className="h-5 w-72" />
          <div className="grid gap-4 lg:grid-cols-2">
            <Skeleton className="h-56 w-full" />
            <Skeleton className="h-56 w-full" />
          </div>
          <SkeletonRows rows={6} />
        </>
      )}
    </Page>
  );
}
