import { useState } from "react";

import type { FailureGroup } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { Segments } from "@/parts/Segments";
import { useCommand } from "@/parts/useCommand";

const SPANS = [
  ["1", "1 h"],
  ["4", "4 h"],
  ["24", "24 h"],
  ["72", "3 days"],
  ["168", "7 days"],
  ["720", "30 days"],
] as const;

/** Asks how long a group of dead letters is muted, and why. */
export function MuteDialog({ group, onClose }: { group: FailureGroup | null; onClose: () => void }) {
  return (
    <Modal open={group !== null} onClose={onClose} title="Mute this group">
      {group ? <Body group={group} onClose={onClose} /> : null}
    </Modal>
  );
}

function Body({ group, onClose }: { group: FailureGroup; onClose: () => void }) {
  const [hours, setHours] = useState<(typeof SPANS)[number][0]>("24");
  const [reason, setReason] = useState("");
  const [act, busy] = useCommand();
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void act(
          "POST",
          "/api/dead-letters/groups/{fingerprint}/mute",
          { params: { fingerprint: group.fingerprint }, body: { hours: Number(hours), reason: reason.trim() } },
          "Muted",
        ).then((done) => (done ? onClose() : undefined));
      }}
    >
      <p className="text-sm text-muted">
        Dead letters are still collected, but this group is hidden from “Needs attention” until then.
      </p>
      <Segments label="For how long" value={hours} onChange={setHours} choices={SPANS} />
      <label className="flex flex-col gap-1 text-sm">
        Reason (optional)
        <input
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.target.value)}
          placeholder="the partner is fixing it"
          className="h-8 rounded border bg-bg px-2"
        />
      </label>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy} acts>
          Mute for {SPANS.find(([id]) => id === hours)?.[1]}
        </Button>
      </div>
    </form>
  );
}
