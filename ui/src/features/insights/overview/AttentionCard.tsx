import { useQuery } from "@tanstack/react-query";
import { BellOff, CircleCheck } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AttentionItem, ProposedRequest } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";
import { StateIcon } from "@/parts/state/StateBadge";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { number } from "@/time/moment";

import { snooze, snoozedIds } from "./snoozed";

const ICONS: Record<AttentionItem["kind"], string> = {
  failing: "failed",
  late: "late",
  missed: "missed",
  dead_letters: "dead_letter",
  stalled_queue: "queued",
  lost_worker: "missed",
  damaged: "failed",
  no_worker: "missed",
  ahead: "failed",
  standstill: "failed",
  channel: "failed",
  monitor: "missed",
  pages: "missed",
};

/** What needs attention, most severe first. */
export function AttentionCard() {
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.attention,
    queryFn: ({ signal }) => ask("/api/attention", { signal }),
    refetchInterval: 30_000,
  });
  const [everything, setEverything] = useState(false);
  const [, redraw] = useState(0);
  const quiet = snoozedIds(Date.now());
  const all = data?.items ?? [];
  const shown = everything ? all : all.filter((one) => !quiet.has(one.id));
  const hidden = all.length - shown.length;
  return (
    <Card
      flush
      title={`Needs attention${shown.length ? ` (${number(shown.length)})` : ""}`}
      aside={
        <>
          {hidden > 0 || everything ? (
            <Button size="small" kind="quiet" onClick={() => setEverything(!everything)}>
              {everything ? "Hide snoozed" : `${number(hidden)} snoozed`}
            </Button>
          ) : null}
          {data ? (
            <span>
              checked <Instant at={data.checked_at} as="relative" />
            </span>
          ) : null}
        </>
      }
    >
      {error && !data ? (
        <div className="p-3">
          <ErrorCard error={error} what="Could not load what needs attention" onRetry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className="flex flex-col gap-3 p-4">
          <Skeleton className="h-4 w-2/3" />
          <Skeleton className="h-4 w-1/2" />
        </div>
      ) : shown.length ? (
        <ul className="divide-y">
          {shown.map((item) => (
            <Item
              key={item.id}
              item={item}
              onSnooze={() => {
                snooze(item.id, Date.now());
                redraw((count) => count + 1);
              }}
            />
          ))}
        </ul>
      ) : (
        <p className="flex items-center gap-2 px-4 py-3">
          <CircleCheck size={16} className="text-success-ink" aria-hidden />
          {hidden ? "Nothing else needs attention." : "All clear. Nothing needs attention."}
        </p>
      )}
    </Card>
  );
}

/** Actions that cannot be taken back once the server has them. */
const STARTS_RUNS: ReadonlySet<string> = new Set(["Run now", "Replay", "Retry"]);

const announced = (action: ProposedRequest, item: AttentionItem): string =>
  action.label === "Run now" ? `${item.title} runs` : `${item.title} runs again`;

function Item({ item, onSnooze }: { item: AttentionItem; onSnooze: () => void }) {
  const [, busy, actNamed] = useCommand();
  const to = addressOf(item);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <StateIcon state={ICONS[item.kind]} />
      <Link to={to} className="font-medium hover:underline">
        {item.title}
      </Link>
      <span className="min-w-0 flex-1 basis-60 text-muted">
        {item.reason}
        {item.since ? (
          <>
            {" · since "}
            <Instant at={item.since} />
          </>
        ) : null}
      </span>
      <span className="flex flex-wrap gap-1.5">
        {item.actions
          .filter((action) => action.method !== "GET")
          .slice(0, 3)
          .map((action) => (
            <Button
              key={action.label}
              size="small"
              busy={busy}
              onClick={() => {
                const act = () =>
                  actNamed(action.method, action.path, { body: action.body ?? undefined }, `${action.label}: done`);
                if (STARTS_RUNS.has(action.label)) undoable(`${action.label} ${item.id}`, announced(action, item), act);
                else void act();
              }}
            >
              {action.label}
            </Button>
          ))}
        <Link
          to={to}
          className="inline-flex h-6 items-center rounded border bg-raised px-2 text-xs font-medium hover:bg-surface"
        >
          Open
        </Link>
        <Button
          size="small"
          kind="quiet"
          aria-label={`Snooze ${item.title} for 4 hours`}
          title="Snooze for 4 hours, in this browser"
          icon={<BellOff size={13} />}
          onClick={onSnooze}
        />
      </span>
    </li>
  );
}

function addressOf(item: AttentionItem): string {
  if (item.kind === "dead_letters") return item.q ? `/dead-letters?q=${encodeURIComponent(item.q)}` : "/dead-letters";
  if (item.kind === "failing" && item.run_id) return `/runs/${item.run_id}`;
  if (item.kind === "channel") return "/alerts?tab=channels";
  if (item.kind === "monitor") return `/monitors/${item.id.slice(item.kind.length + 1)}`;
  if (item.kind === "pages") return "/hosts?tab=pages";
  if (item.schedule_id) return `/schedules/${item.schedule_id}`;
  if (item.queue) return `/queues?queue=${encodeURIComponent(item.queue)}`;
  if (item.worker) return "/queues";
  return item.q ? `/runs?q=${encodeURIComponent(item.q)}` : "/queues";
}
