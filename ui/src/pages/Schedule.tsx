import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { Skeleton, SkeletonRows } from "@/parts/Skeleton";
import { ProblemError } from "@/api/problem";

import { Missing } from "./schedule/Missing";
import { scheduleQuery } from "./schedule/queries";
import { Whole } from "./schedule/Whole";

const CRUMBS = [{ label: "Schedules", to: "/schedules" }];

export default function Schedule() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const { data, error, refetch } = useQuery(scheduleQuery(id));
  if (data) return <Whole key={id} schedule={data} error={error} crumbs={CRUMBS} />;
  if (error instanceof ProblemError && error.status === 404) return <Missing id={id} crumbs={CRUMBS} />;
  return (
    <Page title={error ? id : "…"} crumbs={CRUMBS}>
      {error ? (
        <ErrorCard error={error} what="The schedule could not be read" onRetry={() => void refetch()} />
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
