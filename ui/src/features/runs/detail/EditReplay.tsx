import { useState } from "react";

import type { Run, Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, shellQuoted } from "@/parts/copy/snippets";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo } from "@/parts/useUrl";

import { mergePatchOf } from "./mergePatch";
import { isOpenDeadLetter, repeat } from "./repeat";

type Config = Record<string, unknown>;

/** Whether the action of a run is known, so that it can be edited. */
export const editable = (run: Run, schedule?: Schedule): boolean =>
  isOpenDeadLetter(run)
    ? run.action !== null ||
      (schedule !== undefined && schedule.status !== "deleted" && schedule.action.kind === run.kind)
    : schedule !== undefined;

/** Replays a run with other parameters, once; the schedule is not changed. */
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
  const letter = isOpenDeadLetter(run);
  const [shown] = useState(() => configOf(run, schedule, letter));
  const [text, setText] = useState(JSON.stringify(shown, null, 2));
  const [act, busy] = useCommand();
  const go = useNavigateTo();
  const payload = parsed(text);
  // A dead letter with parameters of its own is edited from those.
  const terms = {
    as_of: run.action ? ("then" as const) : ("now" as const),
    patch: payload && mergePatchOf(shown, payload),
  };
  const edited = shellQuoted(JSON.stringify(terms.patch));
  const call: Call = letter
    ? {
        verb: "Replay",
        method: "POST",
        path: "/api/dead-letters/replay",
        body: { ids: [run.id], ...terms },
        cli: `dead-letter replay ${run.id} --as-of ${terms.as_of} --patch ${edited}`,
      }
    : {
        verb: "Run now",
        method: "POST",
        path: `/api/schedules/${schedule?.id}/run-now`,
        body: { payload: payload ?? {} },
        cli: `schedule run-now ${schedule?.id} --payload ${shellQuoted(JSON.stringify(payload ?? {}))}`,
      };
  const submit = async (): Promise<void> => {
    const made = letter
      ? await repeat(act, run, terms)
      : await act(
          "POST",
          "/api/schedules/{schedule_id}/run-now",
          { params: { schedule_id: schedule?.id ?? "" }, body: { payload: payload ?? {} } },
          "Replayed with your changes",
        );
    if (!made) return;
    onClose();
    go(`/runs/${made.id}`);
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p className="text-sm text-muted">
        Parameters of {run.schedule_name ?? schedule?.name ?? "the action"}, for this run only.{" "}
        {letter ? "The dead letter is resolved when that run succeeds. " : ""}
        {schedule ? "The schedule stays as it is; secrets" : "Secrets"} are filled in by the server.
      </p>
      <textarea
        aria-label="Parameters (JSON)"
        value={text}
        onChange={(event) => setText(event.target.value)}
        rows={14}
        spellCheck={false}
        aria-invalid={payload === null ? true : undefined}
        className="w-full rounded border bg-bg p-3 font-mono text-xs"
      />
      {payload === null ? (
        <p role="alert" className="text-sm text-failed-ink">
          Not a valid JSON object yet.
        </p>
      ) : null}
      <div className="flex justify-end gap-2">
        <CopyAs call={call} />
        <Button onClick={onClose}>Cancel</Button>
        <Button acts type="submit" kind="primary" disabled={payload === null} busy={busy}>
          Replay
        </Button>
      </div>
    </form>
  );
}

/** The parameters of the replay: those of the dead letter, or those of its schedule now. */
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
