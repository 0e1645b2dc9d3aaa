import { Undo2 } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { send } from "@/api/client";
import { messageOf } from "@/api/problem";
import type { AuditLogEntry } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { useNavigateTo } from "@/parts/useUrl";

/** Reverts an edit of a schedule; when the server refuses, shows the reason and a link to the schedule. */
export function RevertButton({
  entry,
  name,
  onReverted,
}: {
  entry: AuditLogEntry;
  name: string;
  onReverted?: () => void;
}) {
  const [asking, setAsking] = useState(false);
  const go = useNavigateTo();
  const mayWrite = usePermission("write:schedule");
  const look = { label: "View", onClick: () => go(`/schedules/${entry.thing_id}`) };
  const revert = async (): Promise<void> => {
    try {
      const now = await send("POST", "/api/audit/{entry_id}/revert", { params: { entry_id: entry.id } });
      toast.success(`Reverted ${now.name}`, { action: look });
      onReverted?.();
    } catch (error) {
      toast.error(`Could not revert: ${messageOf(error)}`, { action: look, duration: 15_000 });
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
        title={`Revert this change to ${name}?`}
        action="Revert"
        onConfirm={revert}
      >
        Restores the previous settings as a new version. Not possible if the schedule has been edited since.
      </Confirm>
    </div>
  );
}
