import { useState } from "react";

import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { useCommand } from "@/parts/useCommand";

import { credentialsIn, type HeaderCredential, hostOf, secretName, withSecret } from "./credentials";

/** Offers to store each credential of the headers as a secret, and to refer to it instead. */
export function MoveToSecret({
  headers,
  url,
  onMoved,
}: {
  headers: string;
  url: string;
  onMoved: (headers: string) => void;
}) {
  const may = usePermission("write:secret");
  const [moving, setMoving] = useState<HeaderCredential | null>(null);
  const found = may ? credentialsIn(headers) : [];
  if (!found.length) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-xs text-muted">
      <span>Encrypted, shown as ***.</span>
      {found.map((credential) => (
        <Button key={credential.header} size="small" onClick={() => setMoving(credential)}>
          Move {credential.header} into a secret…
        </Button>
      ))}
      <Modal
        open={moving !== null}
        onClose={() => setMoving(null)}
        title={`Move ${moving?.header ?? ""} into a secret`}
      >
        {moving ? (
          <MoveForm
            credential={moving}
            host={hostOf(url)}
            onClose={() => setMoving(null)}
            onMoved={(name) => onMoved(withSecret(headers, moving.header, moving.scheme, name))}
          />
        ) : null}
      </Modal>
    </div>
  );
}

interface MoveFormProps {
  credential: HeaderCredential;
  host: string;
  onClose: () => void;
  onMoved: (name: string) => void;
}

function MoveForm({ credential, host, onClose, onMoved }: MoveFormProps) {
  const [name, setName] = useState(secretName(host, credential.header));
  const [value, setValue] = useState(credential.value);
  const [act, busy] = useCommand();
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        const body = { value, ...(host ? { hosts: [host] } : {}) };
        void act("PUT", "/api/secrets/{name}", { params: { name }, body }, `Saved ${name}`).then((done) => {
          if (!done) return;
          onMoved(name);
          onClose();
        });
      }}
    >
      <label className="flex flex-col gap-1">
        Secret name
        <input
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      <label className="flex flex-col gap-1">
        {credential.value ? "Value" : "Value (the stored one is encrypted, so enter it again)"}
        <input
          required
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={(event) => setValue(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      {host ? <p className="text-xs text-muted">It is only sent to {host}. Save the schedule to use it.</p> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy}>
          Move
        </Button>
      </div>
    </form>
  );
}
