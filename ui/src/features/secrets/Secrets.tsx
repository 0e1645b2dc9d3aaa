import { useQuery } from "@tanstack/react-query";
import { LockKeyhole } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import type { SecretInfo } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm, Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";

/** Secrets of the tenant: write-only values that actions refer to. */
export function Secrets() {
  const may = usePermission("write:secret");
  const secrets = useQuery({
    queryKey: ["secrets"],
    queryFn: ({ signal }) => ask("/api/secrets", { signal }),
    retry: false,
  });
  const [writing, setWriting] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<SecretInfo | null>(null);
  const [act] = useCommand();
  return (
    <Card
      title="Secrets"
      flush
      aside={
        <Button needs="write:secret" acts size="small" kind="primary" onClick={() => setWriting("")}>
          Add secret
        </Button>
      }
    >
      {secrets.error ? (
        <div className="p-4">
          <ErrorCard error={secrets.error} what="Could not load secrets" onRetry={() => void secrets.refetch()} />
        </div>
      ) : secrets.isPending ? (
        <SkeletonRows rows={3} />
      ) : secrets.data.items.length ? (
        <ul className="divide-y">
          {secrets.data.items.map((secret) => (
            <li key={secret.name} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <code className="w-48 min-w-0 truncate font-mono">{secret.name}</code>
              <span className="text-xs text-muted">
                version {secret.version}, set by {secret.created_by} <Instant at={secret.created_at} />
                {secret.hosts.length ? ` · for ${secret.hosts.join(", ")} alone` : null}
                {secret.previous_until ? (
                  <>
                    {" "}
                    · previous value valid until <Instant at={secret.previous_until} as="short" />
                  </>
                ) : null}
              </span>
              {may ? (
                <span className="ml-auto flex gap-2">
                  <Button acts size="small" onClick={() => setWriting(secret.name)}>
                    Replace
                  </Button>
                  <Button acts size="small" kind="danger" onClick={() => setDeleting(secret)}>
                    Delete…
                  </Button>
                </span>
              ) : null}
            </li>
          ))}
        </ul>
      ) : (
        <Empty icon={LockKeyhole} title="No secrets">
          Actions refer to a secret by name instead of holding its value;{" "}
          <code className="font-mono">webhook_signing</code> signs webhooks.
        </Empty>
      )}
      <Modal
        open={writing !== null}
        onClose={() => setWriting(null)}
        title={writing ? `Replace ${writing}` : "Add secret"}
      >
        {writing !== null ? <Writing name={writing} onClose={() => setWriting(null)} /> : null}
      </Modal>
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        danger
        type={deleting?.name}
        title={`Delete ${deleting?.name ?? ""}?`}
        action="Delete"
        onConfirm={() => act("DELETE", "/api/secrets/{name}", { params: { name: deleting?.name ?? "" } }, "Deleted")}
      >
        Actions that use it will fail with a clear error.
      </Confirm>
    </Card>
  );
}

function Writing({ name: given, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(given);
  const [value, setValue] = useState("");
  const [hosts, setHosts] = useState("");
  const [act, busy] = useCommand();
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        const named = hosts.split(/[\s,]+/).filter(Boolean);
        const body = { value, ...(named.length ? { hosts: named } : {}) };
        void act("PUT", "/api/secrets/{name}", { params: { name }, body }, `Saved ${name}`).then(
          (done) => done && onClose(),
        );
      }}
    >
      <label className="flex flex-col gap-1">
        Name
        <input
          required
          disabled={Boolean(given)}
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="partner_token"
          className="h-8 rounded border bg-bg px-2 font-mono disabled:opacity-60"
        />
      </label>
      <label className="flex flex-col gap-1">
        Value (cannot be shown again)
        <input
          required
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={(event) => setValue(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      <label className="flex flex-col gap-1">
        {given ? "Allowed hosts, if changed" : "Allowed hosts (empty for any)"}
        <input
          value={hosts}
          onChange={(event) => setHosts(event.target.value)}
          placeholder="api.partner.com"
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy}>
          Save
        </Button>
      </div>
    </form>
  );
}
