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
    <aside
      aria-label="Demo"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b bg-accent-tint px-4 py-1.5 md:px-6"
    >
      <span>Demo data is on: {number(demo.schedules)} schedules, 7 days of history. Nothing leaves this machine.</span>
      <Button size="small" onClick={() => setAsking(true)}>
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
          toast.success("The demo is gone. What you made yourself is still here.");
          await queries.invalidateQueries();
        }}
      >
        Its schedules, runs and logs are deleted. What you made yourself stays.
      </Confirm>
    </aside>
  );
}
