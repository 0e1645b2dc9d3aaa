import { useState } from "react";

import { ProblemError } from "@/api/problem";
import type { Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { parseObject } from "@/parts/form/json";
import { JsonInput } from "@/parts/form/JsonInput";

/** Starts a run outside any instant, with parts of the action replaced for this run. */
export function RunNowDialog({
  schedule,
  open,
  onClose,
  onRun,
}: {
  schedule: Schedule;
  open: boolean;
  onClose: () => void;
  onRun: (payload: Record<string, unknown>) => Promise<unknown>;
}) {
  return (
    <Modal open={open} onClose={onClose} title={`Run ${schedule.name} with changes`} wide>
      {open ? <Body schedule={schedule} onClose={onClose} onRun={onRun} /> : null}
    </Modal>
  );
}

function Body({
  schedule,
  onClose,
  onRun,
}: {
  schedule: Schedule;
  onClose: () => void;
  onRun: (payload: Record<string, unknown>) => Promise<unknown>;
}) {
  const { kind: _kind, ...config } = schedule.action;
  const [text, setText] = useState(JSON.stringify(config, null, 2));
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const read = parseObject(text);
  const complaints = refusal instanceof ProblemError ? (refusal.problem.errors ?? []) : [];
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!read.value) return;
        setBusy(true);
        setRefusal(null);
        void onRun(read.value)
          .then(onClose, setRefusal)
          .finally(() => setBusy(false));
      }}
    >
      <p className="text-sm text-muted">
        These values apply to this run only; the schedule is not changed. The run goes to the queue “manual”.
      </p>
      <JsonInput label="What this run does" value={text} onChange={setText} error={read.error} rows={14} />
      {complaints.map((complaint) => (
        <p key={complaint.field} role="alert" className="text-xs text-failed-ink">
          <code className="font-mono">{complaint.field.replace(/^payload\./, "")}</code> {complaint.message}
        </p>
      ))}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" kind="primary" busy={busy} disabled={!read.value}>
          Run now
        </Button>
      </div>
    </form>
  );
}
