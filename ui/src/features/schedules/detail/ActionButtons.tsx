import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Pause, Pencil, Play, RotateCw } from "lucide-react";
import { useState } from "react";

import { queryKeys } from "@/api/queryKeys";
import type { Schedule } from "@/api/schema";
import { usePermission } from "@/api/session";
import { BackfillDialog } from "@/features/backfills/BackfillDialog";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import type { Call } from "@/parts/copy/snippets";
import { Menu, type MenuItem } from "@/parts/Menu";
import { useKeys } from "@/parts/useKeys";
import { undoable } from "@/parts/undoable";
import { useNavigateTo } from "@/parts/useUrl";

import { exportPath, saveFrom } from "../export";
import { PauseDialog } from "../PauseDialog";
import { useScheduleActions } from "../useScheduleActions";
import { RunNowDialog } from "./RunNowDialog";

const quiet = (): undefined => undefined;

/** The actions on a schedule, each with its keyboard shortcut. */
export function ActionButtons({ schedule }: { schedule: Schedule }) {
  const go = useNavigateTo();
  const acts = useScheduleActions();
  const [mayRun, mayWrite, mayBulk] = [
    usePermission("run:schedule"),
    usePermission("write:schedule"),
    usePermission("write:bulk"),
  ];
  const [pausing, setPausing] = useState(false);
  const [changing, setChanging] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [filling, setFilling] = useState(false);
  const [busy, setBusy] = useState(false);
  const gone = schedule.status === "deleted";
  const saved = useQueryClient().getQueryData<Call>(queryKeys.saved(schedule.id));
  const showing: Call = {
    verb: "Show",
    method: "GET",
    path: `/api/schedules/${schedule.id}`,
    cli: `schedule show ${schedule.id}`,
  };
  const running: Call = {
    verb: "Run now",
    method: "POST",
    path: `/api/schedules/${schedule.id}/run-now`,
    cli: `schedule run-now ${schedule.id}`,
  };
  const editable = mayWrite && !gone && schedule.managed_by !== "file";
  const pausable = mayWrite && (schedule.status === "active" || schedule.status === "paused");
  const run = (): void =>
    undoable(`run ${schedule.id}`, `${schedule.name} runs`, () => {
      setBusy(true);
      void acts
        .runNow(schedule)
        .catch(quiet)
        .finally(() => setBusy(false));
    });
  const pause = (): void => {
    if (schedule.status === "paused") void acts.resume(schedule).catch(quiet);
    else setPausing(true);
  };
  const edit = (): void => go(`/schedules/${schedule.id}/edit`);
  useKeys({ r: mayRun && !gone ? run : undefined, p: pausable ? pause : undefined, e: editable ? edit : undefined });
  const skippable = mayWrite && schedule.status === "active" && schedule.next_run_at !== null;
  const items: MenuItem[] = [
    schedule.skips
      ? {
          label: "Undo skip",
          onSelect: () => void acts.unskip(schedule).catch(quiet),
          disabled: !skippable,
        }
      : { label: "Skip next run", onSelect: () => void acts.skip(schedule).catch(quiet), disabled: !skippable },
    { label: "Backfill…", onSelect: () => setFilling(true), disabled: !mayRun || !mayBulk || gone },
    { label: "Run with changes…", onSelect: () => setChanging(true), disabled: !mayRun || gone },
    { label: "Duplicate", onSelect: () => go(`/schedules/new?from=${schedule.id}`), disabled: !mayWrite },
    { label: "Export YAML", onSelect: () => saveFrom(exportPath("", [schedule.id])) },
    { label: "Delete…", onSelect: () => setDeleting(true), danger: true, disabled: !editable },
  ];
  return (
    <>
      <Button
        kind="primary"
        icon={<Play size={14} aria-hidden />}
        hotkey="r"
        busy={busy}
        needs="run:schedule"
        disabled={gone}
        onClick={run}
      >
        Run now
      </Button>
      {schedule.status === "active" || schedule.status === "paused" ? (
        <Button
          acts
          needs="write:schedule"
          icon={schedule.status === "paused" ? <RotateCw size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
          hotkey="p"
          onClick={pause}
        >
          {schedule.status === "paused" ? "Resume" : "Pause"}
        </Button>
      ) : null}
      {gone || schedule.managed_by === "file" ? null : (
        <Button needs="write:schedule" icon={<Pencil size={14} aria-hidden />} hotkey="e" onClick={edit}>
          Edit
        </Button>
      )}
      <CopyAs call={saved ?? showing} others={saved ? [showing, running] : [running]} />
      <Menu trigger={<Button aria-label="More actions" icon={<Ellipsis size={16} />} />} items={items} />
      <PauseDialog schedule={pausing ? schedule : null} onClose={() => setPausing(false)} onPause={acts.pause} />
      <BackfillDialog schedule={schedule} open={filling} onClose={() => setFilling(false)} />
      <RunNowDialog
        schedule={schedule}
        open={changing}
        onClose={() => setChanging(false)}
        onRun={(payload) => acts.runNow(schedule, payload)}
      />
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
        It stops firing and its queued runs are cancelled. Runs in progress continue, and history is kept.
      </Confirm>
    </>
  );
}
