import { useQuery, useQueryClient } from "@tanstack/react-query";

import type { Bulk } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useTopic } from "@/live/live";

export const over = (bulk: Bulk): boolean => bulk.state === "finished" || bulk.state === "stopped";

/** A bulk action as it stands, followed live. */
export function useBulkObject(id: string) {
  const queries = useQueryClient();
  const found = useQuery({
    queryKey: keys.bulk(id),
    queryFn: ({ signal }) => ask<Bulk>(`/api/bulk/${id}`, { signal }),
    refetchInterval: (query) => (query.state.data && over(query.state.data) ? false : 5000),
  });
  useTopic(`bulk:${id}`, (told) => {
    if (told.type !== "gone" && told.data) queries.setQueryData(keys.bulk(id), told.data);
  });
  return found;
}
