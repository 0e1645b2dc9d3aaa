import { useQuery } from "@tanstack/react-query";
import { CalendarX2 } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { useSession } from "@/api/session";
import { Empty } from "@/parts/Empty";
import { Link } from "@/parts/Link";
import { type Crumb, Page } from "@/parts/Page";

/** Shown for an unknown id; offers schedules of that name. */
export function ScheduleNotFound({ id, crumbs }: { id: string; crumbs: Crumb[] }) {
  const tenant = useSession()?.tenant_id;
  const { data } = useQuery({
    queryKey: queryKeys.suggest("schedule", id),
    queryFn: ({ signal }) =>
      ask("/api/suggest", {
        query: { field: "schedule", prefix: id.slice(0, 40), limit: 5 },
        signal,
      }),
    retry: false,
  });
  const similar = data?.items ?? [];
  return (
    <Page title={id} crumbs={crumbs} tab="Not found">
      <Empty icon={CalendarX2} title={`No schedule ${id}${tenant ? ` in tenant ${tenant}` : ""}`}>
        {similar.length ? (
          <>
            <p>Similar:</p>
            <ul>
              {similar.map((suggestion) => (
                <li key={suggestion.value}>
                  <Link
                    to={`/schedules?q=${encodeURIComponent(suggestion.value)}`}
                    className="text-accent hover:underline"
                  >
                    {suggestion.label || suggestion.value}
                  </Link>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <p>
            It may have been deleted, or belong to another tenant.{" "}
            <Link to="/schedules" className="text-accent underline">
              All schedules
            </Link>
          </p>
        )}
      </Empty>
    </Page>
  );
}
