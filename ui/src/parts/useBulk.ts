import { useCallback } from "react";
import { toast } from "sonner";

import type { Bulk, BulkRequest } from "@/api/calls";
import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";

import { useGo } from "./useUrl";

/** Starts a bulk action, says so, and offers to watch it. Throws what the server refused, after saying it. */
export function useBulk(): (request: BulkRequest) => Promise<Bulk> {
  const go = useGo();
  return useCallback(
    async (request) => {
      try {
        const bulk = await ask<Bulk>("/api/bulk", { method: "POST", body: request });
        toast.success(`${verb(request.action)} ${bulk.total.toLocaleString("en-US")}: under way`, {
          action: { label: "Watch", onClick: () => go(`/bulk/${bulk.id}`) },
        });
        return bulk;
      } catch (error) {
        toast.error(error instanceof ProblemError ? error.message : String(error));
        throw error;
      }
    },
    [go],
  );
}

const verb = (action: string): string => action.charAt(0).toUpperCase() + action.slice(1);
