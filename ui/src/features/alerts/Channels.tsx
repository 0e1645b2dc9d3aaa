import { useQuery } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { ChannelKind, NotificationChannel } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm, Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Field, INPUT } from "@/parts/form/Field";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";

import { CHANNEL_KINDS, configOf, typedOf } from "./kinds";

/** The channels of the tenant, each with what became of its last message. */
export function Channels() {
  const may = usePermission("write:channel");
  const channels = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
    refetchInterval: 5000,
  });
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState<NotificationChannel | null>(null);
  const [deleting, setDeleting] = useState<NotificationChannel | null>(null);
  const [act] = useCommand();
  const add = may ? (
    <Button acts size="small" kind="primary" onClick={() => setAdding(true)}>
      Add channel
    </Button>
  ) : null;
  return (
    <Card title="Channels" flush aside={add}>
      {channels.error ? (
        <div className="p-4">
          <ErrorCard error={channels.error} what="Could not load channels" onRetry={() => void channels.refetch()} />
        </div>
      ) : channels.isPending ? (
        <SkeletonRows rows={3} />
      ) : channels.data.items.length ? (
        <ul className="divide-y">
          {channels.data.items.map((channel) => (
            <ChannelRow
              key={channel.id}
              channel={channel}
              may={may}
              onChange={() => setChanging(channel)}
              onDelete={() => setDeleting(channel)}
            />
          ))}
        </ul>
      ) : (
        <Empty
          icon={Send}
          title="No channels"
          actions={add}
          cli="channel create ops slack --set url=https://hooks.slack.com/services/…"
        >
          Add one to be notified by e-mail, Slack, a webhook or another service when a schedule fails.
        </Empty>
      )}
      <Modal open={adding} onClose={() => setAdding(false)} title="Add channel">
        {adding ? <ChannelForm first={!channels.data?.items.length} onClose={() => setAdding(false)} /> : null}
      </Modal>
      <Modal open={changing !== null} onClose={() => setChanging(null)} title={`Edit ${changing?.name ?? ""}`}>
        {changing ? <ChannelForm channel={changing} first={false} onClose={() => setChanging(null)} /> : null}
      </Modal>
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        danger
        title={`Delete ${deleting?.name ?? ""}?`}
        action="Delete"
        onConfirm={() =>
          act("DELETE", "/api/channels/{channel_id}", { params: { channel_id: deleting?.id ?? "" } }, "Deleted")
        }
      >
        It will no longer receive messages. A channel used by a rule cannot be deleted.
      </Confirm>
    </Card>
  );
}

interface ChannelRowProps {
  channel: NotificationChannel;
  may: boolean;
  onChange: () => void;
  onDelete: () => void;
}

function ChannelRow({ channel, may, onChange, onDelete }: ChannelRowProps) {
  const [act, busy] = useCommand();
  const last = channel.last_delivery;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
      <span className="font-medium">{channel.name}</span>
      <span className="text-muted">{CHANNEL_KINDS[channel.kind].label}</span>
      <span className="min-w-0 text-xs text-muted">
        {last === null ? "nothing sent yet" : null}
        {last?.state === "sent" ? (
          <>
            last message <Instant at={last.sent_at} />
          </>
        ) : null}
        {last && last.state !== "sent" ? (
          <span className="text-failed-ink">
            last message {last.state}: {last.error ?? "sending"}
          </span>
        ) : null}
      </span>
      {may ? (
        <span className="ml-auto flex gap-2">
          <Button
            acts
            size="small"
            busy={busy}
            onClick={() =>
              void act(
                "POST",
                "/api/channels/{channel_id}/test",
                { params: { channel_id: channel.id } },
                `Sending a test to ${channel.name}`,
              )
            }
          >
            Send test
          </Button>
          <Button acts size="small" onClick={onChange}>
            Edit…
          </Button>
          <Button acts size="small" kind="danger" onClick={onDelete}>
            Delete…
          </Button>
        </span>
      ) : null}
    </li>
  );
}

interface ChannelFormProps {
  /** The channel that is edited; without one, another is added. */
  channel?: NotificationChannel;
  first: boolean;
  onClose: () => void;
}

function ChannelForm({ channel, first, onClose }: ChannelFormProps) {
  const [kind, setKind] = useState<ChannelKind>(channel?.kind ?? "email");
  const [name, setName] = useState(channel?.name ?? "");
  const [typed, setTyped] = useState<Record<string, string>>(channel ? typedOf(channel.config) : {});
  const [withRule, setWithRule] = useState(first);
  const [act, busy] = useCommand();
  const save = async (): Promise<void> => {
    const config = configOf(kind, typed);
    const made = channel
      ? await act(
          "PATCH",
          "/api/channels/{channel_id}",
          { params: { channel_id: channel.id }, body: { name, config } },
          `Saved ${name}`,
        )
      : await act("POST", "/api/channels", { body: { name, kind, config } }, `Added ${name}`);
    if (!made) return;
    if (withRule)
      await act("POST", "/api/alert-rules", {
        body: {
          name: "failing, late or missed",
          on: ["failed", "late", "missed"],
          after: { in_a_row: 3 },
          late_after: "5m",
          to: [made.id],
        },
      });
    await act("POST", "/api/channels/{channel_id}/test", { params: { channel_id: made.id } }, "Sending a test");
    onClose();
  };
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <div className="grid grid-cols-2 gap-3">
        <Field name="kind" label="Kind">
          {(wired) => (
            <select
              {...wired}
              className={INPUT}
              disabled={channel !== undefined}
              value={kind}
              onChange={(event) => setKind(event.target.value as ChannelKind)}
            >
              {Object.entries(CHANNEL_KINDS).map(([id, { label }]) => (
                <option key={id} value={id}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field name="name" label="Name">
          {(wired) => (
            <input
              {...wired}
              required
              className={INPUT}
              placeholder="ops"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      </div>
      <div className="grid grid-cols-2 gap-x-3 gap-y-4">
        {CHANNEL_KINDS[kind].settings.map((setting) => (
          <Field
            key={setting.name}
            name={`config.${setting.name}`}
            className={setting.half ? undefined : "col-span-2"}
            label={setting.optional ? `${setting.label} (optional)` : setting.label}
            hint={setting.hint}
          >
            {(wired) =>
              setting.choices ? (
                <select
                  {...wired}
                  className={INPUT}
                  value={typed[setting.name] ?? setting.value}
                  onChange={(event) => setTyped({ ...typed, [setting.name]: event.target.value })}
                >
                  {setting.choices.map(([value, label]) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </select>
              ) : (
                <input
                  {...wired}
                  required={!setting.optional}
                  type={setting.secret ? "password" : "text"}
                  autoComplete={setting.secret ? "new-password" : "off"}
                  className={INPUT}
                  value={typed[setting.name] ?? setting.value ?? ""}
                  onChange={(event) => setTyped({ ...typed, [setting.name]: event.target.value })}
                />
              )
            }
          </Field>
        ))}
      </div>
      {first ? (
        <label className="flex items-start gap-2">
          <input type="checkbox" checked={withRule} onChange={(event) => setWithRule(event.target.checked)} />
          <span>
            Notify this channel when any schedule fails three times in a row, is more than 5 minutes late or misses a
            scheduled time, and when it recovers
          </span>
        </label>
      ) : null}
      <p className="text-xs text-muted">
        Credentials are encrypted and never shown again{channel ? "; one that you leave as it is stays" : null}. A test
        message will be sent.
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy} acts>
          {channel ? "Save and test" : "Add and test"}
        </Button>
      </div>
    </form>
  );
}
