import { useQuery } from "@tanstack/react-query";
import { LockKeyhole } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

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

import { newSigningSecret, SIGNING } from "./signing";

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
  const signed = secrets.data?.items.some((secret) => secret.name === SIGNING) ?? true;
  return (
    <Card
      title="Secrets"
      flush
      aside={
        <span className="flex gap-2">
          {signed ? null : (
            <Button needs="write:secret" acts size="small" onClick={() => setWriting(SIGNING)}>
              Generate a signing secret
            </Button>
          )}
          <Button needs="write:secret" acts size="small" kind="primary" onClick={() => setWriting("")}>
            Add secret
          </Button>
        </span>
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
                {secret.hosts.length ? ` · only for ${secret.hosts.join(", ")}` : null}
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
                    {secret.name === SIGNING ? "Rotate" : "Replace"}
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
        <Empty icon={LockKeyhole} title="No secrets" cli="secret set webhook_signing">
          Actions refer to a secret by name instead of holding its value;{" "}
          <code className="font-mono">webhook_signing</code> signs webhooks.
        </Empty>
      )}
      <Modal
        open={writing !== null}
        onClose={() => setWriting(null)}
        title={
          writing === SIGNING
            ? signed
              ? "Rotate the signing secret"
              : "Set the signing secret"
            : writing
              ? `Replace ${writing}`
              : "Add secret"
        }
      >
        {writing !== null ? (
          <Writing key={writing} name={writing} rotates={signed} onClose={() => setWriting(null)} />
        ) : null}
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

function Writing({ name: given, rotates, onClose }: { name: string; rotates: boolean; onClose: () => void }) {
  const [name, setName] = useState(given);
  const signing = given === SIGNING;
  const [value, setValue] = useState(() => (signing ? newSigningSecret() : ""));
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
          type={signing ? "text" : "password"}
          autoComplete="new-password"
          spellCheck={false}
          value={value}
          onChange={(event) => setValue(event.target.value)}
          className="h-8 rounded border bg-bg px-2 font-mono"
        />
      </label>
      {signing ? (
        <div className="flex flex-col gap-2 rounded bg-surface p-3 text-xs">
          <span className="flex gap-2">
            <Button size="small" onClick={() => setValue(newSigningSecret())}>
              Generate another
            </Button>
            <Button
              size="small"
              onClick={() => void navigator.clipboard.writeText(value).then(() => toast.success("Copied"))}
            >
              Copy
            </Button>
          </span>
          <p>Copy it now and give it to the receivers of your webhooks: it cannot be shown again.</p>
          {rotates ? (
            <p>
              For 24 hours after the rotation, every webhook carries two signatures: one by the new secret and one by
              the old one. A receiver that accepts either one needs no downtime. After that, only the new secret signs.
            </p>
          ) : (
            <p>From then on, every webhook is signed with it, following the Standard Webhooks specification.</p>
          )}
        </div>
      ) : null}
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
