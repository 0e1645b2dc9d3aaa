import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { send } from "@/api/client";
import { useSession } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { number } from "@/time/moment";

/** Says that demo data is loaded, and offers to remove it. */
export function DemoBanner() {
  const demo = useSession()?.demo;
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  if (!demo?.on) return null;
  return (
    <aside aria-label="Demo" className="flex items-center gap-x-3 border-b bg-accent-tint px-4 py-1.5 md:px-6">
      <span className="min-w-0 truncate">
        Demo data is on: {number(demo.schedules)} schedules
        <span className="max-md:hidden"> with 7 days of history. Nothing leaves this machine.</span>
      </span>
      <Button size="small" className="shrink-0 max-md:ml-auto" onClick={() => setAsking(true)}>
        Remove demo
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title="Remove the demo?"
        action="Remove demo"
        danger
        onConfirm={async () => {
          await send("DELETE", "/api/demo");
          toast.success("Demo data removed. Your own data is untouched.");
          await queries.invalidateQueries();
        }}
      >
        Deletes the demo's schedules, runs and logs. Your own data is kept.
      </Confirm>
    </aside>
  );
}
