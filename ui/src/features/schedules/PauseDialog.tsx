import { useState } from "react";

import type { Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";

/** Asks for the reason of a pause, which is shown as long as the schedule is paused. */
export function PauseDialog({
  schedule,
  onClose,
  onPause,
}: {
  schedule: Schedule | null;
  onClose: () => void;
  onPause: (schedule: Schedule, reason: string) => Promise<void>;
}) {
  return (
    <Modal open={schedule !== null} onClose={onClose} title={`Pause ${schedule?.name ?? ""}`}>
      {schedule ? <Body schedule={schedule} onClose={onClose} onPause={onPause} /> : null}
    </Modal>
  );
}

function Body({
  schedule,
  onClose,
  onPause,
}: {
  schedule: Schedule;
  onClose: () => void;
  onPause: (schedule: Schedule, reason: string) => Promise<void>;
}) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        void onPause(schedule, reason.trim())
          .then(onClose, () => undefined)
          .finally(() => setBusy(false));
      }}
    >
      <p className="text-sm text-muted">
        Nothing will run until you resume. Scheduled times that pass meanwhile are not caught up; runs in progress
        continue.
      </p>
      <label className="flex flex-col gap-1 text-sm">
        Reason (shown with the schedule)
        <input
          autoFocus
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.target.value)}
          placeholder="waiting for a new API key"
          className="h-8 rounded border bg-bg px-2"
        />
      </label>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy}>
          Pause
        </Button>
      </div>
    </form>
  );
}
