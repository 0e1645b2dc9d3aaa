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
  ["", "until it is revoked"],
  ["30", "for 30 days"],
  ["90", "for 90 days"],
  ["365", "for a year"],
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
        may ? (
          <Button acts size="small" kind="primary" onClick={() => setMaking(true)}>
            Create a key
          </Button>
        ) : null
      }
    >
      {local ? (
        <p className="border-b px-4 py-2 text-sm text-muted">
          This Foliot listens on this machine only and needs no key. Keys are checked once it has a signing key.
        </p>
      ) : null}
      {keys.error ? (
        <div className="p-4">
          <ErrorCard error={keys.error} what="The keys could not be read" onRetry={() => void keys.refetch()} />
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
                made by {key.created_by} <Instant at={key.created_at} /> ·{" "}
                {key.last_used_at ? (
                  <>
                    used <Instant at={key.last_used_at} />
                  </>
                ) : (
                  "never used"
                )}{" "}
                ·{" "}
                {key.expires_at ? (
                  <>
                    counts until <Instant at={key.expires_at} as="short" />
                  </>
                ) : (
                  "counts until it is revoked"
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
        <Empty icon={KeyRound} title="No API keys">
          A program shows one instead of a person's token.
        </Empty>
      )}
      <Modal open={making} onClose={() => setMaking(false)} title="Create an API key">
        {making ? <Making onClose={() => setMaking(false)} /> : null}
      </Modal>
      <Confirm
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        danger
        title={`Revoke ${revoking?.name ?? ""}?`}
        action="Revoke"
        onConfirm={() =>
          act("DELETE", "/api/keys/{key_id}", { params: { key_id: revoking?.id ?? "" } }, "Revoked: it counts no more")
        }
      >
        Requests with it are refused from now on. This cannot be undone.
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
        Name, so that you know it again
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
        May do what
        <select
          value={role}
          onChange={(event) => setRole(event.target.value as (typeof ROLES)[number])}
          className="h-8 rounded border bg-bg px-2"
        >
          <option value="viewer">viewer: reads</option>
          <option value="operator">operator: reads, changes and runs</option>
          <option value="admin">admin: also keys, secrets and the audit log</option>
        </select>
      </label>
      <label className="flex flex-col gap-1">
        Counts
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
      {error ? <ErrorCard error={error} what="No key was made" bar /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Leave it</Button>
        <Button type="submit" kind="primary" disabled={!name.trim()}>
          Create the key
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
      <p>
        This is the only time that {made.name} is shown. Foliot keeps a fingerprint of it, and cannot tell it to you
        again.
      </p>
      {[made.key, line, curl].map((text) => (
        <div key={text} className="flex items-center gap-2 rounded border bg-surface p-2">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{text}</code>
          <CopyButton text={text} />
        </div>
      ))}
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </div>
  );
}
