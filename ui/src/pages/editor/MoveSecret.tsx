import { useState } from "react";

import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { useAct } from "@/parts/useAct";

import { hostOf, type Movable, movable, moved, secretName } from "./credentials";
import type { Part } from "./inputs";

/** Offers a secret for each credential that stands in the headers. */
export function MoveSecrets({ part }: { part: Part }) {
  const may = useMay("write:secret");
  const [moving, setMoving] = useState<Movable | null>(null);
  const headers = part.doing.inputs.headers ?? "";
  const found = may ? movable(headers) : [];
  if (!found.length) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-xs text-muted">
      <span>Kept sealed, and shown as ***.</span>
      {found.map((one) => (
        <Button key={one.header} size="small" onClick={() => setMoving(one)}>
          Move {one.header} into a secret…
        </Button>
      ))}
      <Modal
        open={moving !== null}
        onClose={() => setMoving(null)}
        title={`Move ${moving?.header ?? ""} into a secret`}
      >
        {moving ? (
          <Moving
            one={moving}
            host={hostOf(part.doing.inputs.url ?? "")}
            onClose={() => setMoving(null)}
            onMoved={(name) => part.onChange({ headers: moved(headers, moving.header, moving.scheme, name) })}
          />
        ) : null}
      </Modal>
    </div>
  );
}

interface MovingProps {
  one: Movable;
  host: string;
  onClose: () => void;
  onMoved: (name: string) => void;
}

function Moving({ one, host, onClose, onMoved }: MovingProps) {
  const [name, setName] = useState(secretName(host, one.header));
  const [value, setValue] = useState(one.value);
  const [act, busy] = useAct();
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        const body = { value, ...(host ? { hosts: [host] } : {}) };
        void act(`/api/secrets/${encodeURIComponent(name)}`, { method: "PUT", body }, `${name} is set`).then((done) => {
          if (!done) return;
          onMoved(name);
          onClose();
        });
      }}
    >
      <label className="flex flex-col gap-1">
        Name of the secret
        <input
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      <label className="flex flex-col gap-1">
        {one.value ? "Its value" : "Its value: it is sealed and nobody can read it, so write it once more"}
        <input
          required
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={(event) => setValue(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      {host ? <p className="text-xs text-muted">It goes to {host} alone. Save the schedule to use it.</p> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Leave it</Button>
        <Button type="submit" kind="primary" busy={busy}>
          Move it
        </Button>
      </div>
    </form>
  );
}
