import { useQuery, useQueryClient } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { BulkAction } from "@/api/schema";
import { useTopic } from "@/live/live";

export const isOver = (bulk: BulkAction): boolean => bulk.state === "finished" || bulk.state === "stopped";

/** A bulk action, kept current by its live topic. */
export function useBulk(id: string) {
  const queries = useQueryClient();
  const found = useQuery({
    queryKey: queryKeys.bulk(id),
    queryFn: ({ signal }) => ask("/api/bulk/{bulk_id}", { params: { bulk_id: id }, signal }),
    refetchInterval: (query) => (query.state.data && isOver(query.state.data) ? false : 5000),
  });
  useTopic(`bulk:${id}`, (message) => {
    if (message.type !== "gone" && message.data) queries.setQueryData(queryKeys.bulk(id), message.data);
  });
  return found;
}
