import { useCallback } from "react";
import { toast } from "sonner";

import { send } from "@/api/client";
import { messageOf } from "@/api/problem";
import type { BulkAction, NewBulkAction } from "@/api/schema";
import { useNavigateTo } from "@/parts/useUrl";

/** Starts a bulk action and shows a toast with a link to it. A refusal is shown as a toast and thrown again. */
export function useStartBulk(): (request: NewBulkAction) => Promise<BulkAction> {
  const go = useNavigateTo();
  return useCallback(
    async (request) => {
      try {
        const bulk = await send("POST", "/api/bulk", { body: request });
        toast.success(`${verb(request.action)} ${bulk.total.toLocaleString("en-US")}: in progress`, {
          action: { label: "View progress", onClick: () => go(`/bulk/${bulk.id}`) },
        });
        return bulk;
      } catch (error) {
        toast.error(messageOf(error));
        throw error;
      }
    },
    [go],
  );
}

const verb = (action: string): string => action.charAt(0).toUpperCase() + action.slice(1);
