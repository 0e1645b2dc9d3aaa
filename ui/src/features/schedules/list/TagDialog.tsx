import { useState } from "react";

import type { NewBulkAction } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";

import { TagsInput } from "../editor/TagsInput";

export type Tagging = Pick<NewBulkAction, "add_tags" | "remove_tags">;

/** Adds tags to the selected schedules, and removes others. */
export function TagDialog({
  open,
  title,
  onClose,
  onTag,
}: {
  open: boolean;
  title: string;
  onClose: () => void;
  onTag: (tagging: Tagging) => Promise<void>;
}) {
  return (
    <Modal open={open} onClose={onClose} title={title}>
      {open ? <Body action={title} onClose={onClose} onTag={onTag} /> : null}
    </Modal>
  );
}

function Body({
  action,
  onClose,
  onTag,
}: {
  action: string;
  onClose: () => void;
  onTag: (tagging: Tagging) => Promise<void>;
}) {
  const [add, setAdd] = useState<string[]>([]);
  const [remove, setRemove] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const both = add.filter((tag) => remove.includes(tag));
  const ready = add.length + remove.length > 0 && !both.length;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!ready) return;
        setBusy(true);
        void onTag({ add_tags: add, remove_tags: remove })
          .then(onClose, () => undefined)
          .finally(() => setBusy(false));
      }}
    >
      <TagsInput name="add_tags" label="Add" tags={add} onChange={setAdd} />
      <TagsInput name="remove_tags" label="Remove" placeholder="" tags={remove} onChange={setRemove} />
      {both.length ? <p className="text-sm text-failed-ink">{both[0]} cannot be both added and removed.</p> : null}
      <p className="text-sm text-muted">Processed at five per second. You can follow, pause or stop it.</p>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" acts busy={busy} disabled={!ready}>
          {action}
        </Button>
      </div>
    </form>
  );
}
