import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { toast } from "sonner";

import { ask, type RequestOptions } from "@/api/client";
import { messageOf } from "@/api/problem";

/** Sends a change to the server: busy while it lasts, a toast on refusal, queries invalidated on success. */
export function useCommand(): [
  act: <T>(path: string, asking?: RequestOptions, done?: string) => Promise<T | null>,
  busy: boolean,
] {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const act = useCallback(
    async <T>(path: string, asking: RequestOptions = {}, done?: string): Promise<T | null> => {
      setBusy(true);
      try {
        const answer = await ask<T>(path, { method: "POST", ...asking });
        if (done) toast.success(done);
        void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "list" });
        return answer ?? (true as T);
      } catch (error) {
        toast.error(messageOf(error));
        return null;
      } finally {
        setBusy(false);
      }
    },
    [queries],
  );
  return [act, busy];
}
