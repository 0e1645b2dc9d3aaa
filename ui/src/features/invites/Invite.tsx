import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { newIdempotencyKey, send } from "@/api/client";
import type { Invite } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { CopyButton } from "@/parts/copy/CopyButton";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";

const ROLES = ["viewer", "operator", "admin"] as const;
const LIVES = [
  ["1", "in 1 hour"],
  ["72", "in 3 days"],
  ["168", "in 7 days"],
] as const;
const INPUT = "h-8 rounded border bg-bg px-2";

/** Creates a link by which a person signs in, with a role. */
export function InviteButton() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button needs="write:key" acts size="small" kind="primary" onClick={() => setOpen(true)}>
        Invite
      </Button>
      <Modal open={open} onClose={() => setOpen(false)} title="Invite a person">
        {open ? <Inviting onClose={() => setOpen(false)} /> : null}
      </Modal>
    </>
  );
}

function Inviting({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("viewer");
  const [hours, setHours] = useState("72");
  const [made, setMade] = useState<Invite | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [idempotencyKey] = useState(newIdempotencyKey);
  if (made) return <Invited made={made} onClose={onClose} />;
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void send("POST", "/api/invites", {
          idempotencyKey,
          body: { name: name.trim(), role, link_hours: Number(hours) },
        }).then((answer) => {
          setMade(answer);
          void queries.invalidateQueries({ queryKey: ["keys"] });
          void queries.invalidateQueries({ queryKey: ["members"] });
        }, setError);
      }}
    >
      <label className="flex flex-col gap-1">
        Name
        <input
          autoFocus
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="eva"
          className={INPUT}
        />
      </label>
      <label className="flex flex-col gap-1">
        Role
        <select value={role} onChange={(event) => setRole(event.target.value as typeof role)} className={INPUT}>
          <option value="viewer">viewer: read only</option>
          <option value="operator">operator: read, edit and run</option>
          <option value="admin">admin: also keys, secrets and the audit log</option>
        </select>
      </label>
      <label className="flex flex-col gap-1">
        Link expires
        <select value={hours} onChange={(event) => setHours(event.target.value)} className={INPUT}>
          {LIVES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <p className="text-muted">
        The access is an API key under this name, so you can revoke it under API keys at any time.
      </p>
      {error ? <ErrorCard error={error} what="Could not create the invitation" bar /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={!name.trim()}>
          Create link
        </Button>
      </div>
    </form>
  );
}

function Invited({ made, onClose }: { made: Invite; onClose: () => void }) {
  // The address that this page was opened at: the server may not know the proxy in front of it.
  const { pathname, search } = new URL(made.url);
  const link = `${window.location.origin}${pathname}${search}`;
  return (
    <div className="flex flex-col gap-4 text-sm">
      <p>
        Send this link to {made.name}. It signs in once, as {made.role}, until{" "}
        <Instant at={made.link_expires_at} as="short" />, and is not shown again.
      </p>
      <div className="flex items-center gap-2 rounded border bg-surface p-2">
        <code aria-label="Invitation link" className="min-w-0 flex-1 font-mono text-xs break-all">
          {link}
        </code>
        <CopyButton text={link} />
      </div>
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
