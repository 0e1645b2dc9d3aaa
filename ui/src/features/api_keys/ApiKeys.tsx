import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";

import { ask, newIdempotencyKey, send } from "@/api/client";
import type { ApiKey, NewApiKey } from "@/api/schema";
import { usePermission, useSession } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm, Modal } from "@/parts/Confirm";
import { CopyButton } from "@/parts/copy/CopyButton";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";

const ROLES = ["viewer", "operator", "admin"] as const;
const LIVES = [
  ["", "never"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in 1 year"],
] as const;

/** API keys of the tenant; the value of a new one is shown once. */
export function Keys() {
  const may = usePermission("write:key");
  const local = useSession()?.mode === "local";
  const keys = useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => ask("/api/keys", { query: { limit: 200 }, signal }),
    retry: false,
  });
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const [act] = useCommand();
  const alive = (keys.data?.items ?? []).filter((item) => !item.revoked_at);
  return (
    <Card
      title="API keys"
      flush
      aside={
        <Button needs="write:key" acts size="small" kind="primary" onClick={() => setMaking(true)}>
          Create key
        </Button>
      }
    >
      {local ? (
        <p className="border-b px-4 py-2 text-sm text-muted">
          This server only listens on this machine and does not need a key. Keys are enforced once a signing key is set.
        </p>
      ) : null}
      {keys.error ? (
        <div className="p-4">
          <ErrorCard error={keys.error} what="Could not load API keys" onRetry={() => void keys.refetch()} />
        </div>
      ) : keys.isPending ? (
        <SkeletonRows rows={3} />
      ) : alive.length ? (
        <ul className="divide-y">
          {alive.map((key) => (
            <li key={key.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <span className="w-44 min-w-0 truncate font-medium">{key.name}</span>
              <code className="font-mono text-xs">{key.hint}…</code>
              <span className="w-20 text-muted">{key.role}</span>
              <span className="text-xs text-muted">
                created by {key.created_by} <Instant at={key.created_at} /> ·{" "}
                {key.last_used_at ? (
                  <>
                    last used <Instant at={key.last_used_at} />
                  </>
                ) : (
                  "never used"
                )}{" "}
                ·{" "}
                {key.expires_at ? (
                  <>
                    expires <Instant at={key.expires_at} as="short" />
                  </>
                ) : (
                  "never expires"
                )}
              </span>
              {may ? (
                <Button acts size="small" kind="danger" className="ml-auto" onClick={() => setRevoking(key)}>
                  Revoke…
                </Button>
              ) : null}
            </li>
          ))}
        </ul>
      ) : (
        <Empty icon={KeyRound} title="No API keys" cli="apikey create deploys --role operator">
          Programs use an API key to authenticate. Create one above, or with:
        </Empty>
      )}
      <Modal open={making} onClose={() => setMaking(false)} title="Create API key">
        {making ? <Making onClose={() => setMaking(false)} /> : null}
      </Modal>
      <Confirm
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        danger
        title={`Revoke ${revoking?.name ?? ""}?`}
        action="Revoke"
        onConfirm={() => act("DELETE", "/api/keys/{key_id}", { params: { key_id: revoking?.id ?? "" } }, "Key revoked")}
      >
        Requests with this key will be rejected immediately. This cannot be undone.
      </Confirm>
    </Card>
  );
}

function Making({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("operator");
  const [days, setDays] = useState("");
  const [made, setMade] = useState<NewApiKey | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [idempotencyKey] = useState(newIdempotencyKey);
  if (made) return <Made made={made} onClose={onClose} />;
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        const expires = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null;
        void send("POST", "/api/keys", {
          idempotencyKey,
          body: { name, role, expires_at: expires },
        }).then((answer) => {
          setMade(answer);
          void queries.invalidateQueries({ queryKey: ["keys"] });
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
          placeholder="deploys"
          className="h-8 rounded border bg-bg px-2"
        />
      </label>
      <label className="flex flex-col gap-1">
        Role
        <select
          value={role}
          onChange={(event) => setRole(event.target.value as (typeof ROLES)[number])}
          className="h-8 rounded border bg-bg px-2"
        >
          <option value="viewer">viewer: read only</option>
          <option value="operator">operator: read, edit and run</option>
          <option value="admin">admin: also keys, secrets and the audit log</option>
        </select>
      </label>
      <label className="flex flex-col gap-1">
        Expires
        <select
          value={days}
          onChange={(event) => setDays(event.target.value)}
          className="h-8 rounded border bg-bg px-2"
        >
          {LIVES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {error ? <ErrorCard error={error} what="Could not create the key" bar /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={!name.trim()}>
          Create key
        </Button>
      </div>
    </form>
  );
}

function Made({ made, onClose }: { made: { name: string; key: string }; onClose: () => void }) {
  const line = `export FOLIOT_TOKEN=${made.key}`;
  const curl = `curl -sS -H "Authorization: Bearer $FOLIOT_TOKEN" ${window.location.origin}/api/schedules`;
  return (
    <div className="flex flex-col gap-4 text-sm">
      <p>Copy {made.name} now: it is not shown again. Foliot stores only a fingerprint.</p>
      {[made.key, line, curl].map((text) => (
        <div key={text} className="flex items-center gap-2 rounded border bg-surface p-2">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{text}</code>
          <CopyButton text={text} />
        </div>
      ))}
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </div>
  );
}
