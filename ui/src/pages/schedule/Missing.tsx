import { useQuery } from "@tanstack/react-query";
import { CalendarX2 } from "lucide-react";

import type { Suggestion } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useSession } from "@/api/session";
import { Empty } from "@/parts/Empty";
import { Go } from "@/parts/Go";
import { type Crumb, Page } from "@/parts/Page";

/** There is none of this id; perhaps it was a name. */
export function Missing({ id, crumbs }: { id: string; crumbs: Crumb[] }) {
  const tenant = useSession()?.tenant_id;
  const { data } = useQuery({
    queryKey: keys.suggest("schedule", id),
    queryFn: ({ signal }) =>
      ask<{ items: Suggestion[] }>("/api/suggest", {
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
              {similar.map((one) => (
                <li key={one.value}>
                  <Go to={`/schedules?q=${encodeURIComponent(one.value)}`} className="text-accent hover:underline">
                    {one.label || one.value}
                  </Go>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <p>
            It may have been deleted long ago, or belong to somebody else.{" "}
            <Go to="/schedules" className="text-accent underline">
              All schedules
            </Go>
          </p>
        )}
      </Empty>
    </Page>
  );
}
