import { useState } from "react";

import type { Run, Schedule } from "@/api/calls";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { CopyAs } from "@/parts/CopyAs";
import { useAct } from "@/parts/useAct";
import { useGo } from "@/parts/useUrl";

import { patchOf } from "../letters/patching";
import { again, isLetter } from "./again";

type Config = Record<string, unknown>;

/** Whether what a run was told to do is known, so that it can be changed. */
export const editable = (run: Run, schedule?: Schedule): boolean =>
  isLetter(run)
    ? run.action !== null ||
      (schedule !== undefined && schedule.status !== "deleted" && schedule.action.kind === run.kind)
    : schedule !== undefined;

/** The same again with other parameters, once: the schedule itself stays as it is. */
export function EditReplay({
  run,
  schedule,
  open,
  onClose,
}: {
  run: Run;
  schedule?: Schedule;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Modal open={open} onClose={onClose} title="Edit and replay" wide>
      <Form key={`${run.id} ${schedule?.version}`} run={run} schedule={schedule} onClose={onClose} />
    </Modal>
  );
}

function Form({ run, schedule, onClose }: { run: Run; schedule?: Schedule; onClose: () => void }) {
  const letter = isLetter(run);
  const [shown] = useState(() => configOf(run, schedule, letter));
  const [text, setText] = useState(JSON.stringify(shown, null, 2));
  const [act, busy] = useAct();
  const go = useGo();
  const payload = parsed(text);
  // A letter that was given its own parameters shows those: what is changed is changed in them.
  const terms = { as_of: run.action ? "then" : "now", patch: payload && patchOf(shown, payload) };
  const call = letter
    ? { path: "/api/dead-letters/replay", body: { ids: [run.id], ...terms } }
    : { path: `/api/schedules/${schedule?.id}/run-now`, body: { payload: payload ?? {} } };
  const send = async (): Promise<void> => {
    const made = letter
      ? await again(act, run, terms)
      : await act<Run>(call.path, { body: call.body }, "Replayed with what you wrote");
    if (!made) return;
    onClose();
    go(`/runs/${made.id}`);
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <p className="text-sm text-muted">
        What {run.schedule_name ?? schedule?.name ?? "it"} does, for one run more.{" "}
        {letter ? "The letter is settled when that run succeeds. " : ""}
        {schedule ? "The schedule stays as it is; secrets" : "Secrets"} are filled in by the server.
      </p>
      <textarea
        aria-label="Parameters, as JSON"
        value={text}
        onChange={(event) => setText(event.target.value)}
        rows={14}
        spellCheck={false}
        aria-invalid={payload === null ? true : undefined}
        className="w-full rounded border bg-bg p-3 font-mono text-xs"
      />
      {payload === null ? (
        <p role="alert" className="text-sm text-failed-ink">
          This is not an object in JSON yet.
        </p>
      ) : null}
      <div className="flex justify-end gap-2">
        <CopyAs call={{ method: "POST", ...call }} />
        <Button onClick={onClose}>Leave as it is</Button>
        <Button acts type="submit" kind="primary" disabled={payload === null} busy={busy}>
          Replay
        </Button>
      </div>
    </form>
  );
}

/** What it would be told: of a letter, its own parameters or those of its schedule now. */
function configOf(run: Run, schedule: Schedule | undefined, letter: boolean): Config {
  const own = (run.action ?? {}) as Config;
  const { kind: _, ...config } = letter && run.action ? own : { ...(schedule?.action as Config | undefined), ...own };
  return config;
}

function parsed(text: string): Config | null {
  try {
    const read: unknown = JSON.parse(text);
    return read && typeof read === "object" && !Array.isArray(read) ? (read as Config) : null;
  } catch {
    return null;
  }
}
