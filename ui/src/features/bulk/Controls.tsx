import { useQueryClient } from "@tanstack/react-query";
import { Pause, Play, Square } from "lucide-react";

import { queryKeys } from "@/api/queryKeys";
import type { BulkAction } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { useCommand } from "@/parts/useCommand";

import { isOver } from "./useBulk";

/** Pause, resume and stop; items that are done stay done. */
export function Controls({ bulk, size }: { bulk: BulkAction; size?: "small" }) {
  const queries = useQueryClient();
  const [act, busy] = useCommand();
  if (!usePermission("write:bulk") || isOver(bulk)) return null;
  const control = async (verb: "pause" | "resume" | "stop"): Promise<void> => {
    const now = await act("POST", `/api/bulk/{bulk_id}/${verb}`, { params: { bulk_id: bulk.id } });
    if (now) queries.setQueryData(queryKeys.bulk(bulk.id), now);
  };
  return (
    <>
      {bulk.state === "paused" ? (
        <Button size={size} busy={busy} icon={<Play size={14} aria-hidden />} onClick={() => void control("resume")}>
          Resume
        </Button>
      ) : (
        <Button size={size} busy={busy} icon={<Pause size={14} aria-hidden />} onClick={() => void control("pause")}>
          Pause
        </Button>
      )}
      <Button
        size={size}
        kind="danger"
        busy={busy}
        icon={<Square size={13} aria-hidden />}
        onClick={() => void control("stop")}
      >
        Stop
      </Button>
    </>
  );
}
