import { BellOff, BellRing, ChevronDown, ChevronRight, PencilLine, RotateCcw, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";

import type { FailureGroup, Run } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { cx } from "@/parts/cx";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Kind } from "@/parts/state/Kind";
import { StateIcon } from "@/parts/state/StateBadge";
import { DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { useCommand } from "@/parts/useCommand";
import { number } from "@/time/moment";

import { deadLetterColumns } from "./columns";
import { HourlyArrivals } from "./HourlyArrivals";
import type { ReplayTarget } from "./ReplayDialog";

const rowId = (run: Run): string => run.id;

/** The run filter that finds the dead letters of a group, narrowed by the page's own filter. */
export const filterOf = (group: FailureGroup, q: string): string =>
  `state:dead_letter -resolved:true fingerprint:${group.fingerprint} ${q}`.trim();

/** The receiver rejected the payload: replaying it unchanged would be rejected again. */
const needsEdit = (group: FailureGroup): boolean =>
  ["http_400", "http_409", "http_413", "http_415", "http_422"].includes(group.code);

export interface GroupActions {
  /** The page's own filter. */
  q: string;
  onReplay: (target: ReplayTarget) => void;
  onDiscard: (group: FailureGroup) => void;
  onMute: (group: FailureGroup) => void;
}

/** Dead letters with the same fingerprint: their message, and the actions on all of them. */
export function DeadLetterGroup({
  group,
  open,
  onToggle,
  ...actions
}: { group: FailureGroup; open: boolean; onToggle: () => void } & GroupActions) {
  const mayRun = usePermission("run:dead_letter");
  const Chevron = open ? ChevronDown : ChevronRight;
  return (
    <section className="rounded-lg border bg-bg" aria-label={`${group.count} × ${group.message}`}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-3 py-2.5">
        <button
          type="button"
          aria-expanded={open}
          onClick={onToggle}
          className="flex min-w-0 flex-1 basis-72 items-start gap-2 text-left"
        >
          <Chevron size={16} aria-hidden className="mt-0.5 shrink-0 text-muted" />
          <StateIcon state="dead_letter" className="mt-0.5" />
          <span className="min-w-0">
            <span className="font-medium">{number(group.count)} ×</span>{" "}
            <span className="break-words">{group.message}</span>
            {group.host ? <span className="text-muted"> · {group.host}</span> : null}
          </span>
        </button>
        <HourlyArrivals hours={group.arrivals} height={22} />
        <span className="text-xs text-muted">
          last <Instant at={group.last_at} />
        </span>
        <GroupButtons group={group} {...actions} />
      </div>
      {group.mute ? <MuteNote group={group} mute={group.mute} /> : null}
      <div
        className={cx("flex flex-wrap gap-x-4 gap-y-1 px-3 pb-2.5 pl-[52px] text-xs text-muted", open && "border-b")}
      >
        <Kind kind={group.kind} />
        <code className="font-mono">{group.code}</code>
        <span>
          first <Instant at={group.first_at} />
        </span>
        <span className="min-w-0">
          {group.schedules.map((schedule, index) => (
            <span key={schedule.id}>
              {index ? ", " : ""}
              <Link to={`/schedules/${schedule.id}`} className="hover:text-ink hover:underline">
                {schedule.name}
              </Link>
            </span>
          ))}
        </span>
        <Link
          to={`/runs?q=${encodeURIComponent(filterOf(group, actions.q))}`}
          className="ml-auto hover:text-ink hover:underline"
        >
          View runs
        </Link>
      </div>
      {open ? <GroupRuns group={group} narrowed={actions.q} onReplay={mayRun ? actions.onReplay : undefined} /> : null}
    </section>
  );
}

function GroupButtons({ group, q, onReplay, onDiscard, onMute }: { group: FailureGroup } & GroupActions) {
  const mayRun = usePermission("run:dead_letter");
  const mayEdit = usePermission("write:schedule");
  const target: ReplayTarget = { filter: filterOf(group, q), sample: group.sample };
  const edit = needsEdit(group);
  return (
    <span className="flex flex-wrap items-center gap-2">
      {mayRun && mayEdit ? (
        <>
          {edit ? <span className="text-xs text-attention-ink">needs edit</span> : null}
          <Button
            size="small"
            acts
            kind={edit ? "primary" : "plain"}
            icon={<PencilLine size={13} aria-hidden />}
            onClick={() => onReplay({ ...target, edit: true })}
          >
            Edit & replay
          </Button>
        </>
      ) : null}
      {group.count ? (
        <Button
          size="small"
          acts
          needs="run:dead_letter"
          kind={edit ? "plain" : "primary"}
          icon={<RotateCcw size={13} aria-hidden />}
          onClick={() => onReplay(target)}
        >
          Replay {number(group.count)}
        </Button>
      ) : null}
      {!group.mute ? (
        <Button
          size="small"
          acts
          needs="write:dead_letter"
          icon={<BellOff size={13} aria-hidden />}
          onClick={() => onMute(group)}
        >
          Mute…
        </Button>
      ) : null}
      {group.count ? (
        <Button
          size="small"
          acts
          needs="write:run"
          kind="danger"
          icon={<Trash2 size={13} aria-hidden />}
          onClick={() => onDiscard(group)}
        >
          Discard…
        </Button>
      ) : null}
    </span>
  );
}

function MuteNote({ group, mute }: { group: FailureGroup; mute: NonNullable<FailureGroup["mute"]> }) {
  const mayMute = usePermission("write:dead_letter");
  const [act, busy] = useCommand();
  return (
    <p className="flex flex-wrap items-center gap-x-2 gap-y-1 px-3 pb-2 pl-[52px] text-sm text-muted">
      <BellOff size={13} aria-hidden />
      <span>
        Muted by {mute.user_id} <Instant at={mute.at} />, until <Instant at={mute.until} as="short" />
        {mute.reason ? `: ${mute.reason}` : ""}
      </span>
      {mayMute ? (
        <Button
          size="small"
          acts
          busy={busy}
          icon={<BellRing size={13} aria-hidden />}
          onClick={() =>
            void act(
              "POST",
              "/api/dead-letters/groups/{fingerprint}/unmute",
              { params: { fingerprint: group.fingerprint } },
              "Unmuted",
            )
          }
        >
          Unmute
        </Button>
      ) : null}
    </p>
  );
}

function GroupRuns({
  group,
  narrowed,
  onReplay,
}: {
  group: FailureGroup;
  narrowed: string;
  onReplay?: (target: ReplayTarget) => void;
}) {
  const q = filterOf(group, narrowed);
  const query = useMemo(() => ({ q }), [q]);
  const list = useLiveList({ path: "/api/runs", query, topic: "runs", rowId, limit: 20 });
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const columns = useMemo(
    () => deadLetterColumns(onReplay && ((run) => onReplay({ ids: [run.id], sample: run }))),
    [onReplay],
  );
  const selection = useMemo(() => ({ ids: picked, set: (ids: Set<string>) => setPicked(ids) }), [picked]);
  return (
    <div className="flex flex-col gap-2 p-3">
      <DataTable
        label={`Letters: ${group.message}`}
        columns={columns}
        rows={list.rows}
        rowId={rowId}
        href={(run) => `/runs/${run.id}`}
        selection={onReplay ? selection : undefined}
        loading={list.loading}
        error={list.error}
        onRetry={list.refetch}
        hasMore={list.hasMore}
        onMore={list.more}
        newRows={list.newRows}
        onShowNew={list.showNew}
        fill={false}
      />
      {picked.size && onReplay ? (
        <div>
          <Button size="small" kind="primary" acts onClick={() => onReplay({ ids: [...picked], sample: group.sample })}>
            Replay {number(picked.size)}
          </Button>
        </div>
      ) : null}
    </div>
  );
}
