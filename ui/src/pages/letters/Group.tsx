import { BellOff, BellRing, ChevronDown, ChevronRight, PencilLine, RotateCcw, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";

import type { DeadLetterGroup, Run } from "@/api/calls";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { cx } from "@/parts/cx";
import { DataTable } from "@/parts/DataTable";
import { Go } from "@/parts/Go";
import { Instant } from "@/parts/Instant";
import { Kind } from "@/parts/Kind";
import { StateIcon } from "@/parts/StateBadge";
import { useAct } from "@/parts/useAct";
import { useLiveList } from "@/parts/useLiveList";
import { number } from "@/time/moment";

import { Arrivals } from "./Arrivals";
import { letterColumns } from "./columns";
import type { Which } from "./ReplayDialog";

const rowId = (run: Run): string => run.id;

/** The letters of a group, as a filter of runs says it; of those alone that the page's own filter shows. */
export const filterOf = (group: DeadLetterGroup, q: string): string =>
  `state:dead_letter -resolved:true fingerprint:${group.fingerprint} ${q}`.trim();

/** The receiver understood and did not want it: the same again will be refused again. */
const needsEdit = (group: DeadLetterGroup): boolean =>
  ["http_400", "http_409", "http_413", "http_415", "http_422"].includes(group.code);

export interface Doing {
  /** What the page is narrowed to. */
  q: string;
  onReplay: (which: Which) => void;
  onDiscard: (group: DeadLetterGroup) => void;
  onMute: (group: DeadLetterGroup) => void;
}

/** Letters that failed alike: what they say, and what can be done with all of them. */
export function Group({
  group,
  open,
  onToggle,
  ...doing
}: { group: DeadLetterGroup; open: boolean; onToggle: () => void } & Doing) {
  const mayRun = useMay("run:dead_letter");
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
        <Arrivals hours={group.arrivals} height={22} />
        <span className="text-xs text-muted">
          last <Instant at={group.last_at} />
        </span>
        <Buttons group={group} {...doing} />
      </div>
      {group.mute ? <Muted group={group} mute={group.mute} /> : null}
      <div
        className={cx("flex flex-wrap gap-x-4 gap-y-1 px-3 pb-2.5 pl-[52px] text-xs text-muted", open && "border-b")}
      >
        <Kind kind={group.kind} />
        <code className="font-mono">{group.code}</code>
        <span>
          first <Instant at={group.first_at} />
        </span>
        <span className="min-w-0">
          {group.schedules.map((one, index) => (
            <span key={one.id}>
              {index ? ", " : ""}
              <Go to={`/schedules/${one.id}`} className="hover:text-ink hover:underline">
                {one.name}
              </Go>
            </span>
          ))}
        </span>
        <Go
          to={`/runs?q=${encodeURIComponent(filterOf(group, doing.q))}`}
          className="ml-auto hover:text-ink hover:underline"
        >
          Show as runs
        </Go>
      </div>
      {open ? <Letters group={group} narrowed={doing.q} onReplay={mayRun ? doing.onReplay : undefined} /> : null}
    </section>
  );
}

function Buttons({ group, q, onReplay, onDiscard, onMute }: { group: DeadLetterGroup } & Doing) {
  const mayRun = useMay("run:dead_letter");
  const mayEdit = useMay("write:schedule");
  const mayDiscard = useMay("write:run");
  const mayMute = useMay("write:dead_letter");
  const which: Which = { filter: filterOf(group, q), sample: group.sample };
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
            onClick={() => onReplay({ ...which, edit: true })}
          >
            Edit & replay
          </Button>
        </>
      ) : null}
      {mayRun ? (
        <Button
          size="small"
          acts
          kind={edit ? "plain" : "primary"}
          icon={<RotateCcw size={13} aria-hidden />}
          onClick={() => onReplay(which)}
        >
          Replay {number(group.count)}
        </Button>
      ) : null}
      {mayMute && !group.mute ? (
        <Button size="small" acts icon={<BellOff size={13} aria-hidden />} onClick={() => onMute(group)}>
          Mute…
        </Button>
      ) : null}
      {mayDiscard ? (
        <Button
          size="small"
          acts
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

function Muted({ group, mute }: { group: DeadLetterGroup; mute: NonNullable<DeadLetterGroup["mute"]> }) {
  const mayMute = useMay("write:dead_letter");
  const [act, busy] = useAct();
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
          onClick={() => void act(`/api/dead-letters/groups/${group.fingerprint}/unmute`, {}, "Not muted any more")}
        >
          Unmute
        </Button>
      ) : null}
    </p>
  );
}

function Letters({
  group,
  narrowed,
  onReplay,
}: {
  group: DeadLetterGroup;
  narrowed: string;
  onReplay?: (which: Which) => void;
}) {
  const q = filterOf(group, narrowed);
  const query = useMemo(() => ({ q }), [q]);
  const list = useLiveList<Run>({ path: "/api/runs", query, topic: "runs", rowId, limit: 20 });
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const columns = useMemo(
    () => letterColumns(onReplay && ((run) => onReplay({ ids: [run.id], sample: run }))),
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
        fresh={list.fresh}
        onFresh={list.showFresh}
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
