import { Undo2 } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import type { Schedule, TrailEntry } from "@/api/calls";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { useGo } from "@/parts/useUrl";

import { said } from "../schedule/acts";

/** Puts back what stood before an edit; where that cannot be done, says why and offers to look. */
export function Revert({ entry, name, onReverted }: { entry: TrailEntry; name: string; onReverted?: () => void }) {
  const [asking, setAsking] = useState(false);
  const go = useGo();
  const mayWrite = useMay("write:schedule");
  const look = { label: "Look at it", onClick: () => go(`/schedules/${entry.thing_id}`) };
  const revert = async (): Promise<void> => {
    try {
      const now = await ask<Schedule>(`/api/audit/${entry.id}/revert`, { method: "POST" });
      toast.success(`${now.name} is as it was before`, { action: look });
      onReverted?.();
    } catch (error) {
      toast.error(`Nothing was put back: ${said(error)}`, { action: look, duration: 15_000 });
    }
  };
  if (!mayWrite) return null;
  return (
    <div className="mt-2">
      <Button size="small" acts icon={<Undo2 size={12} aria-hidden />} onClick={() => setAsking(true)}>
        Revert…
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Revert this edit of ${name}?`}
        action="Revert"
        onConfirm={revert}
      >
        What stood before it stands again from now on, as a new version. Refused if somebody has edited the schedule
        since.
      </Confirm>
    </div>
  );
}
