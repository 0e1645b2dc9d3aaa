import { useState } from "react";

import type { Run, Schedule } from "@/api/calls";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { CopyAs } from "@/parts/CopyAs";
import { useAct } from "@/parts/useAct";
import { useGo } from "@/parts/useUrl";

/** The same again with other parameters, once: the schedule itself stays as it is. */
export function EditReplay({
  run,
  schedule,
  open,
  onClose,
}: {
  run: Run;
  schedule: Schedule;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Modal open={open} onClose={onClose} title="Edit and replay" wide>
      <Form key={run.id} run={run} schedule={schedule} onClose={onClose} />
    </Modal>
  );
}

function Form({ run, schedule, onClose }: { run: Run; schedule: Schedule; onClose: () => void }) {
  const { kind: _, ...config } = { ...schedule.action, ...(run.action ?? {}) };
  const [text, setText] = useState(JSON.stringify(config, null, 2));
  const [act, busy] = useAct();
  const go = useGo();
  const payload = parsed(text);
  const path = `/api/schedules/${schedule.id}/run-now`;
  const send = async (): Promise<void> => {
    const made = await act<Run>(path, { body: { payload } }, "Replayed with what you wrote");
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
        What {schedule.name} does, for one run more. The schedule stays as it is; secrets are filled in by the server.
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
        <CopyAs call={{ method: "POST", path, body: { payload: payload ?? {} } }} />
        <Button onClick={onClose}>Leave as it is</Button>
        <Button type="submit" kind="primary" disabled={payload === null} busy={busy}>
          Replay
        </Button>
      </div>
    </form>
  );
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const read: unknown = JSON.parse(text);
    return read && typeof read === "object" && !Array.isArray(read) ? (read as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
