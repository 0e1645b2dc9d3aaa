import { Ellipsis, Pause, Pencil, Play, RotateCw } from "lucide-react";
import { useState } from "react";

import type { Schedule } from "@/api/calls";
import { useMay } from "@/api/session";
import { useKeys } from "@/frame/keyboard";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/CopyAs";
import { Menu, type MenuItem } from "@/parts/Menu";
import { useGo } from "@/parts/useUrl";

import { documentOf, download } from "../schedules/export";
import { useActs } from "./acts";
import { PauseDialog } from "./PauseDialog";
import { RunNowDialog } from "./RunNowDialog";

const quiet = (): undefined => undefined;

/** What can be done with a schedule, each with its key. */
export function Actions({ schedule }: { schedule: Schedule }) {
  const go = useGo();
  const acts = useActs();
  const [mayRun, mayWrite] = [useMay("run:schedule"), useMay("write:schedule")];
  const [pausing, setPausing] = useState(false);
  const [changing, setChanging] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [busy, setBusy] = useState(false);
  const gone = schedule.status === "deleted";
  const editable = mayWrite && !gone && schedule.managed_by !== "file";
  const pausable = mayWrite && (schedule.status === "active" || schedule.status === "paused");
  const run = (): void => {
    setBusy(true);
    void acts
      .runNow(schedule)
      .catch(quiet)
      .finally(() => setBusy(false));
  };
  const pause = (): void => {
    if (schedule.status === "paused") void acts.resume(schedule).catch(quiet);
    else setPausing(true);
  };
  const edit = (): void => go(`/schedules/${schedule.id}/edit`);
  useKeys({ r: mayRun && !gone ? run : undefined, p: pausable ? pause : undefined, e: editable ? edit : undefined });
  const items: MenuItem[] = [
    { label: "Run with changes…", onSelect: () => setChanging(true), disabled: !mayRun || gone },
    { label: "Duplicate", onSelect: () => go(`/schedules/new?from=${schedule.id}`), disabled: !mayWrite },
    { label: "Export JSON", onSelect: () => download(`${schedule.name.replace(/[^\w.-]+/g, "-")}.json`, documentOf(schedule)) },
    { label: "Delete…", onSelect: () => setDeleting(true), danger: true, disabled: !editable },
  ];
  return (
    <>
      <Button kind="primary" icon={<Play size={14} aria-hidden />} hotkey="r" busy={busy} disabled={!mayRun || gone} onClick={run}>
        Run now
      </Button>
      {pausable ? (
        <Button icon={schedule.status === "paused" ? <RotateCw size={14} aria-hidden /> : <Pause size={14} aria-hidden />} hotkey="p" onClick={pause}>
          {schedule.status === "paused" ? "Resume" : "Pause"}
        </Button>
      ) : null}
      {editable ? (
        <Button icon={<Pencil size={14} aria-hidden />} hotkey="e" onClick={edit}>
          Edit
        </Button>
      ) : null}
      <CopyAs call={{ method: "POST", path: `/api/schedules/${schedule.id}/run-now`, cli: `schedule run-now ${schedule.id}` }} />
      <Menu trigger={<Button aria-label="More actions" icon={<Ellipsis size={16} />} />} items={items} />
      <PauseDialog schedule={pausing ? schedule : null} onClose={() => setPausing(false)} onPause={acts.pause} />
      <RunNowDialog schedule={schedule} open={changing} onClose={() => setChanging(false)} onRun={(payload) => acts.runNow(schedule, payload)} />
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        onConfirm={async () => {
          await acts.remove(schedule);
          go("/schedules");
        }}
        title={`Delete ${schedule.name}`}
        action="Delete"
        danger
        type={schedule.name}
      >
        It fires no more, and its waiting runs are cancelled; running ones go on. What it did stays on record.
      </Confirm>
    </>
  );
}
