import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { toast } from "sonner";

import { ask, type Asking } from "@/api/client";
import { ProblemError } from "@/api/problem";

/** One change asked of the server: busy while it lasts, said when it is refused, and what is shown is asked again. */
export function useAct(): [act: <T>(path: string, asking?: Asking, done?: string) => Promise<T | null>, busy: boolean] {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const act = useCallback(
    async <T>(path: string, asking: Asking = {}, done?: string): Promise<T | null> => {
      setBusy(true);
      try {
        const answer = await ask<T>(path, { method: "POST", ...asking });
        if (done) toast.success(done);
        void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "list" });
        return answer ?? (true as T);
      } catch (error) {
        toast.error(error instanceof ProblemError ? error.message : String(error));
        return null;
      } finally {
        setBusy(false);
      }
    },
    [queries],
  );
  return [act, busy];
}
