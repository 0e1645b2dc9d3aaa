import { useQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { dryRun, send } from "@/api/client";
import { messageOf } from "@/api/problem";
import type { EndpointHealth } from "@/api/schema";
import { usePermission } from "@/api/session";
import { useStartBulk } from "@/features/bulk/useStartBulk";
import { ReplayDialog, type ReplayTarget } from "@/features/dead_letters/ReplayDialog";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Menu } from "@/parts/Menu";
import { useNavigateTo } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { RecoverDialog } from "./RecoverDialog";
import { targetFilter } from "./target";

export interface ChosenAction {
  endpoint: EndpointHealth;
  act: "recover" | "disable";
}

/** The menu of one endpoint. */
export function EndpointMenu({
  endpoint,
  onChoose,
}: {
  endpoint: EndpointHealth;
  onChoose: (chosen: ChosenAction) => void;
}) {
  const go = useNavigateTo();
  const [mayRun, mayWrite, mayBulk] = [
    usePermission("run:schedule"),
    usePermission("write:schedule"),
    usePermission("write:bulk"),
  ];
  const test = async (): Promise<void> => {
    try {
      const run = await send("POST", "/api/endpoints/test", { body: { url: endpoint.url } });
      toast.success("Sending a test", {
        action: { label: "View run", onClick: () => go(`/runs/${run.id}`) },
      });
    } catch (error) {
      toast.error(`Could not send a test: ${messageOf(error)}`);
    }
  };
  return (
    <Menu
      trigger={
        <Button size="small" kind="quiet" aria-label={`Actions for ${endpoint.url}`} icon={<Ellipsis size={16} />} />
      }
      items={[
        { label: "Send test", disabled: !mayRun, onSelect: () => void test() },
        { label: "Recover failures…", disabled: !mayBulk, onSelect: () => onChoose({ endpoint, act: "recover" }) },
        { label: "View runs", onSelect: () => go(`/runs?q=${encodeURIComponent(targetFilter(endpoint.url))}`) },
        {
          label: "Disable…",
          danger: true,
          disabled: !mayWrite || !mayBulk,
          onSelect: () => onChoose({ endpoint, act: "disable" }),
        },
      ]}
    />
  );
}

/** The dialog of the chosen menu item. */
export function EndpointDialogs({ chosen, onClose }: { chosen: ChosenAction | null; onClose: () => void }) {
  const [target, setTarget] = useState<ReplayTarget | null>(null);
  return (
    <>
      <RecoverDialog
        endpoint={chosen?.act === "recover" ? chosen.endpoint : null}
        onClose={onClose}
        onReplay={(filter) => {
          onClose();
          setTarget({ filter });
        }}
      />
      <ReplayDialog target={target} onClose={() => setTarget(null)} />
      <DisableDialog endpoint={chosen?.act === "disable" ? chosen.endpoint : null} onClose={onClose} />
    </>
  );
}

function DisableDialog({ endpoint, onClose }: { endpoint: EndpointHealth | null; onClose: () => void }) {
  const bulk = useStartBulk();
  const filter = targetFilter(endpoint?.url ?? "");
  const trial = useQuery({
    queryKey: ["rehearsal", "pause", filter],
    queryFn: ({ signal }) => dryRun("/api/bulk", { body: { action: "pause", filter }, signal }),
    enabled: endpoint !== null,
    staleTime: 0,
    retry: false,
  });
  const count = trial.data?.count;
  const named = count === undefined ? "schedules" : `${number(count)} ${count === 1 ? "schedule" : "schedules"}`;
  return (
    <Confirm
      open={endpoint !== null}
      onClose={onClose}
      danger
      title={count === 0 ? "No active schedule calls this target" : `Pause ${named}?`}
      action={`Pause ${named}`}
      ready={Boolean(count)}
      onConfirm={() => bulk({ action: "pause", filter, expect: count })}
    >
      <span className="font-mono text-xs break-all">{endpoint?.url}</span>
      <br />
      {trial.error
        ? messageOf(trial.error)
        : "Pauses every active schedule that calls this target. Scheduled times that pass meanwhile are not caught up; runs in progress continue."}
    </Confirm>
  );
}
