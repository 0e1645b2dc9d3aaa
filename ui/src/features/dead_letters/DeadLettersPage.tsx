import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { BellOff, CircleCheck, Download } from "lucide-react";
import { useCallback, useState } from "react";

import { ask, pathOf } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { FailureGroup, FailureGroupPage } from "@/api/schema";
import { useStartBulk } from "@/features/bulk/useStartBulk";
import { RUN_FIELDS } from "@/features/filters/fields";
import { FilterBox } from "@/features/filters/FilterBox";
import { MuteDialog } from "@/features/mutes/MuteDialog";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { command } from "@/parts/copy/snippets";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Glossary } from "@/parts/Glossary";
import { Link } from "@/parts/Link";
import { Menu } from "@/parts/Menu";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { SortSelect } from "@/parts/table/SortSelect";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { Backlog } from "./Backlog";
import { DeadLetterGroup, filterOf, type GroupActions } from "./DeadLetterGroup";
import { ReplayDialog, type ReplayTarget } from "./ReplayDialog";

const ALL = "state:dead_letter -resolved:true";
const UNMUTED = "-muted:true";
const ORDERS: readonly (readonly [string, string])[] = [
  ["", "last failure"],
  ["-count", "number of runs"],
  ["first_at", "longest known"],
];

/** Dead letters grouped by their cause, with replay, discard and mute. */
export default function DeadLettersPage() {
  const [q, setQ] = useUrl("q");
  const [replaying, setReplaying] = useState<ReplayTarget | null>(null);
  const [discarding, setDiscarding] = useState<FailureGroup | null>(null);
  const [muting, setMuting] = useState<FailureGroup | null>(null);
  const filter = useCallback((next: string) => setQ(next, true), [setQ]);
  const [order, setOrder] = useUrl("sort");
  const groups = useGroups(q, UNMUTED, order);
  const muted = useGroups(q, "muted:true");
  const bulk = useStartBulk();
  const actions: GroupActions = { q, onReplay: setReplaying, onDiscard: setDiscarding, onMute: setMuting };
  const deadLetters = groups.data?.letters ?? 0;
  const everything = `${ALL} ${UNMUTED} ${q}`.trim();
  return (
    <Page
      title="Dead letters"
      state={deadLetters ? "dead_letter" : undefined}
      aside={
        <>
          <Glossary term="dead letter" />
          {groups.data && deadLetters ? (
            <Link to={`/runs?q=${encodeURIComponent(everything)}`} className="text-muted hover:text-ink">
              {number(deadLetters)} in {number(groups.data.total)} {groups.data.total === 1 ? "group" : "groups"}
            </Link>
          ) : null}
        </>
      }
      actions={
        <>
          {deadLetters ? (
            <Button
              kind="primary"
              acts
              needs="run:dead_letter"
              onClick={() => setReplaying({ filter: everything, sample: groups.data?.items[0]?.sample })}
            >
              Replay all {number(deadLetters)}…
            </Button>
          ) : null}
          {deadLetters ? <Export q={everything} /> : null}
          <CopyAs
            call={{
              verb: "List dead letters by cause",
              method: "GET",
              path: pathOf("/api/dead-letters/groups", { query: { q, ...(order ? { sort: order } : {}) } }),
              cli: command("dead-letter groups", { "--query": q, "--sort": order }),
            }}
          />
        </>
      }
    >
      <FilterBox
        value={q}
        onChange={filter}
        fields={RUN_FIELDS}
        error={groups.error}
        placeholder='schedule:partner-sync kind:webhook since:24h "text"'
      />
      {groups.data ? <Backlog found={groups.data} /> : null}
      {(groups.data?.total ?? 0) > 1 ? <SortSelect value={order} choices={ORDERS} onChange={setOrder} /> : null}
      <Groups found={groups} q={q} onClear={() => filter("")} mutedCount={muted.data?.letters ?? 0} actions={actions} />
      <MutedGroups found={muted.data} actions={actions} />
      <ReplayDialog target={replaying} onClose={() => setReplaying(null)} />
      <MuteDialog group={muting} onClose={() => setMuting(null)} />
      <Confirm
        open={discarding !== null}
        onClose={() => setDiscarding(null)}
        danger
        type={discarding ? String(discarding.count) : undefined}
        title={`Discard ${number(discarding?.count ?? 0)} dead letters?`}
        action={`Discard ${number(discarding?.count ?? 0)}`}
        onConfirm={() =>
          discarding
            ? bulk({ action: "discard", filter: filterOf(discarding, q), expect: discarding.count, rate: 50 })
            : undefined
        }
      >
        They leave this list for good; their runs are kept. Nothing is sent. This is recorded in the audit log.
      </Confirm>
    </Page>
  );
}

function useGroups(q: string, narrowed: string, order = ""): UseQueryResult<FailureGroupPage> {
  const query = { q: `${q} ${narrowed}`.trim(), limit: 100, ...(order ? { sort: order } : {}) };
  return useQuery({
    queryKey: queryKeys.deadLetterGroups(query),
    queryFn: ({ signal }) => ask("/api/dead-letters/groups", { query, signal }),
    placeholderData: (before) => before,
    retry: false,
  });
}

function Groups({
  found,
  q,
  onClear,
  mutedCount,
  actions,
}: {
  found: UseQueryResult<FailureGroupPage>;
  q: string;
  onClear: () => void;
  mutedCount: number;
  actions: GroupActions;
}) {
  const [open, setOpen] = useUrl("group");
  const items = found.data?.items ?? [];
  if (found.error && !(found.error instanceof ProblemError && found.error.about("q"))) {
    return <ErrorCard error={found.error} what="Could not load dead letters" onRetry={() => void found.refetch()} />;
  }
  if (found.isPending) {
    return (
      <div role="status" aria-label="Loading" aria-busy className="flex flex-col gap-3">
        {[0, 1, 2].map((row) => (
          <Skeleton key={row} className="h-16 w-full" />
        ))}
      </div>
    );
  }
  if (!items.length && found.error) return null;
  if (!items.length && q) {
    return (
      <Empty title="No dead letters match this filter" actions={<Button onClick={onClear}>Clear filter</Button>}>
        <code className="font-mono">{q}</code>
      </Empty>
    );
  }
  if (!items.length) {
    return (
      <Empty
        icon={CircleCheck}
        title={mutedCount ? "All dead letters are muted" : "No dead letters"}
        cli={mutedCount ? null : "alert create-rule dead-letters --on dead_letter"}
      >
        Runs appear here when their last attempt fails. They keep their payload, so that you can edit and replay them.
        {mutedCount ? null : " To be told when one arrives, create an alert rule:"}
      </Empty>
    );
  }
  return items.map((group) => (
    <DeadLetterGroup
      key={group.fingerprint}
      group={group}
      open={open === group.fingerprint || items.length === 1}
      onToggle={() => setOpen(open === group.fingerprint ? "" : group.fingerprint)}
      {...actions}
    />
  ));
}

/** The muted groups, folded at the end of the page. */
function MutedGroups({ found, actions }: { found?: FailureGroupPage; actions: GroupActions }) {
  const [open, setOpen] = useState("");
  if (!found?.items.length) return null;
  return (
    <details className="rounded-lg border border-dashed px-3 py-2">
      <summary className="cursor-pointer text-sm text-muted">
        <BellOff size={13} aria-hidden className="mr-1.5 inline" />
        {number(found.total)} muted {found.total === 1 ? "group" : "groups"}, {number(found.letters)}{" "}
        {found.letters === 1 ? "letter" : "letters"}
      </summary>
      <div className="mt-3 flex flex-col gap-3">
        {found.items.map((group) => (
          <DeadLetterGroup
            key={group.fingerprint}
            group={group}
            open={open === group.fingerprint}
            onToggle={() => setOpen(open === group.fingerprint ? "" : group.fingerprint)}
            {...actions}
          />
        ))}
      </div>
    </details>
  );
}

/** Downloads all dead letters that match. */
function Export({ q }: { q: string }) {
  const save = (format: "ndjson" | "csv"): void =>
    window.location.assign(pathOf("/api/runs/export", { query: { q, format } }));
  return (
    <Menu
      trigger={<Button icon={<Download size={14} aria-hidden />}>Export</Button>}
      items={[
        { label: "NDJSON (one per line)", onSelect: () => save("ndjson") },
        { label: "CSV", onSelect: () => save("csv") },
      ]}
    />
  );
}
