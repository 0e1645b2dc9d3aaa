import { useQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import type { BulkDryRun, Endpoint, Run } from "@/api/calls";
import { ask } from "@/api/client";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Menu } from "@/parts/Menu";
import { useBulk } from "@/parts/useBulk";
import { useGo } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { ReplayDialog, type Which } from "../letters/ReplayDialog";
import { said } from "../schedule/acts";
import { RecoverDialog } from "./RecoverDialog";
import { calling } from "./target";

export interface Chosen {
  one: Endpoint;
  act: "recover" | "disable";
}

/** What can be done about one target. */
export function Acts({ one, onChoose }: { one: Endpoint; onChoose: (chosen: Chosen) => void }) {
  const go = useGo();
  const [mayRun, mayWrite, mayBulk] = [useMay("run:schedule"), useMay("write:schedule"), useMay("write:bulk")];
  const test = async (): Promise<void> => {
    try {
      const run = await ask<Run>("/api/endpoints/test", { method: "POST", body: { url: one.url } });
      toast.success("A test is on its way", {
        action: { label: "Open run", onClick: () => go(`/runs/${run.id}`) },
      });
    } catch (error) {
      toast.error(`No test was sent: ${said(error)}`);
    }
  };
  return (
    <Menu
      trigger={<Button size="small" kind="quiet" aria-label={`Act on ${one.url}`} icon={<Ellipsis size={16} />} />}
      items={[
        { label: "Send a test", disabled: !mayRun, onSelect: () => void test() },
        { label: "Recover what failed…", disabled: !mayBulk, onSelect: () => onChoose({ one, act: "recover" }) },
        { label: "Its runs", onSelect: () => go(`/runs?q=${encodeURIComponent(calling(one.url))}`) },
        {
          label: "Disable…",
          danger: true,
          disabled: !mayWrite || !mayBulk,
          onSelect: () => onChoose({ one, act: "disable" }),
        },
      ]}
    />
  );
}

/** The dialogs of what was chosen. */
export function Dialogs({ chosen, onClose }: { chosen: Chosen | null; onClose: () => void }) {
  const [which, setWhich] = useState<Which | null>(null);
  return (
    <>
      <RecoverDialog
        one={chosen?.act === "recover" ? chosen.one : null}
        onClose={onClose}
        onReplay={(filter) => {
          onClose();
          setWhich({ filter });
        }}
      />
      <ReplayDialog which={which} onClose={() => setWhich(null)} />
      <Disable one={chosen?.act === "disable" ? chosen.one : null} onClose={onClose} />
    </>
  );
}

function Disable({ one, onClose }: { one: Endpoint | null; onClose: () => void }) {
  const bulk = useBulk();
  const filter = calling(one?.url ?? "");
  const trial = useQuery({
    queryKey: ["rehearsal", "pause", filter],
    queryFn: ({ signal }) =>
      ask<BulkDryRun>("/api/bulk", { method: "POST", body: { action: "pause", filter, dry_run: true }, signal }),
    enabled: one !== null,
    staleTime: 0,
    retry: false,
  });
  const count = trial.data?.count;
  const named = count === undefined ? "schedules" : `${number(count)} ${count === 1 ? "schedule" : "schedules"}`;
  return (
    <Confirm
      open={one !== null}
      onClose={onClose}
      danger
      title={count === 0 ? "No active schedule calls it" : `Pause ${named}?`}
      action={`Pause ${named}`}
      ready={Boolean(count)}
      onConfirm={() => bulk({ action: "pause", filter, expect: count })}
    >
      <span className="font-mono text-xs break-all">{one?.url}</span>
      <br />
      {trial.error
        ? said(trial.error)
        : "Every active schedule that calls this target is paused until somebody resumes it. What passes meanwhile is never caught up; runs that have begun go on."}
    </Confirm>
  );
}
