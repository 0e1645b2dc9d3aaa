import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { BellOff, CircleCheck, Download } from "lucide-react";
import { useCallback, useState } from "react";

import type { DeadLetterGroup, DeadLetterGroups } from "@/api/calls";
import { ask, pathOf } from "@/api/client";
import { keys } from "@/api/keys";
import { ProblemError } from "@/api/problem";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/CopyAs";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { FilterBox } from "@/parts/FilterBox";
import { Go } from "@/parts/Go";
import { Menu } from "@/parts/Menu";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useBulk } from "@/parts/useBulk";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";
import { quoted } from "@/words/copying";
import { RUN_FIELDS } from "@/words/fields";

import { type Doing, filterOf, Group } from "./letters/Group";
import { MuteDialog } from "./letters/MuteDialog";
import { Pile } from "./letters/Pile";
import { ReplayDialog, type Which } from "./letters/ReplayDialog";

const ALL = "state:dead_letter -resolved:true";
const HEARD = "-muted:true";

/** What gave up, folded by its cause, and the safe way back. */
export default function DeadLetters() {
  const [q, setQ] = useUrl("q");
  const [which, setWhich] = useState<Which | null>(null);
  const [doomed, setDoomed] = useState<DeadLetterGroup | null>(null);
  const [silent, setSilent] = useState<DeadLetterGroup | null>(null);
  const filter = useCallback((next: string) => setQ(next, true), [setQ]);
  const groups = useGroups(q, HEARD);
  const muted = useGroups(q, "muted:true");
  const bulk = useBulk();
  const mayRun = useMay("run:dead_letter");
  const doing: Doing = { q, onReplay: setWhich, onDiscard: setDoomed, onMute: setSilent };
  const letters = groups.data?.letters ?? 0;
  const everything = `${ALL} ${HEARD} ${q}`.trim();
  return (
    <Page
      title="Dead letters"
      state={letters ? "dead_letter" : undefined}
      aside={
        groups.data && letters ? (
          <Go to={`/runs?q=${encodeURIComponent(everything)}`} className="text-muted hover:text-ink">
            {number(letters)} in {number(groups.data.total)} {groups.data.total === 1 ? "group" : "groups"}
          </Go>
        ) : null
      }
      actions={
        <>
          {mayRun && letters ? (
            <Button
              kind="primary"
              acts
              onClick={() => setWhich({ filter: everything, sample: groups.data?.items[0]?.sample })}
            >
              Replay all {number(letters)}…
            </Button>
          ) : null}
          {letters ? <Export q={everything} /> : null}
          <CopyAs
            call={{
              method: "GET",
              path: pathOf("/api/dead-letters/groups", { q }),
              cli: q ? `dead-letter groups -q ${quoted(q)}` : "dead-letter groups",
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
      {groups.data ? <Pile found={groups.data} /> : null}
      <Groups found={groups} q={q} onClear={() => filter("")} silent={muted.data?.letters ?? 0} doing={doing} />
      <Muted found={muted.data} doing={doing} />
      <ReplayDialog which={which} onClose={() => setWhich(null)} />
      <MuteDialog group={silent} onClose={() => setSilent(null)} />
      <Confirm
        open={doomed !== null}
        onClose={() => setDoomed(null)}
        danger
        type={doomed ? String(doomed.count) : undefined}
        title={`Discard ${number(doomed?.count ?? 0)} letters?`}
        action={`Discard ${number(doomed?.count ?? 0)}`}
        onConfirm={() =>
          doomed ? bulk({ action: "discard", filter: filterOf(doomed, q), expect: doomed.count, rate: 50 }) : undefined
        }
      >
        They stay on record as runs and leave this list for good. Nothing is sent. Who did it is written to the audit
        log.
      </Confirm>
    </Page>
  );
}

function useGroups(q: string, narrowed: string): UseQueryResult<DeadLetterGroups> {
  const query = { q: `${q} ${narrowed}`.trim(), limit: 100 };
  return useQuery({
    queryKey: keys.deadLetterGroups(query),
    queryFn: ({ signal }) => ask<DeadLetterGroups>("/api/dead-letters/groups", { query, signal }),
    placeholderData: (before) => before,
    retry: false,
  });
}

function Groups({
  found,
  q,
  onClear,
  silent,
  doing,
}: {
  found: UseQueryResult<DeadLetterGroups>;
  q: string;
  onClear: () => void;
  silent: number;
  doing: Doing;
}) {
  const [open, setOpen] = useUrl("group");
  const items = found.data?.items ?? [];
  if (found.error && !(found.error instanceof ProblemError && found.error.about("q"))) {
    return (
      <ErrorCard error={found.error} what="The dead letters could not be read" onRetry={() => void found.refetch()} />
    );
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
      <Empty title="No dead letter matches this filter" actions={<Button onClick={onClear}>Clear the filter</Button>}>
        <code className="font-mono">{q}</code>
      </Empty>
    );
  }
  if (!items.length) {
    return (
      <Empty icon={CircleCheck} title={silent ? "No dead letter that is not muted" : "No dead letters"}>
        Runs land here after their last attempt fails.
      </Empty>
    );
  }
  return items.map((group) => (
    <Group
      key={group.fingerprint}
      group={group}
      open={open === group.fingerprint || items.length === 1}
      onToggle={() => setOpen(open === group.fingerprint ? "" : group.fingerprint)}
      {...doing}
    />
  ));
}

/** What nobody wants to hear of now, folded at the end. */
function Muted({ found, doing }: { found?: DeadLetterGroups; doing: Doing }) {
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
          <Group
            key={group.fingerprint}
            group={group}
            open={open === group.fingerprint}
            onToggle={() => setOpen(open === group.fingerprint ? "" : group.fingerprint)}
            {...doing}
          />
        ))}
      </div>
    </details>
  );
}

/** All of them as a file. */
function Export({ q }: { q: string }) {
  const save = (format: string): void => window.location.assign(pathOf("/api/runs/export", { q, format }));
  return (
    <Menu
      trigger={<Button icon={<Download size={14} aria-hidden />}>Export</Button>}
      items={[
        { label: "NDJSON, a letter a line", onSelect: () => save("ndjson") },
        { label: "CSV, a table", onSelect: () => save("csv") },
      ]}
    />
  );
}
