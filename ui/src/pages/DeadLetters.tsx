import { useQuery } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
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
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useBulk } from "@/parts/useBulk";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";
import { quoted } from "@/words/copying";
import { RUN_FIELDS } from "@/words/fields";

import { filterOf, Group } from "./letters/Group";
import { ReplayDialog, type Which } from "./letters/ReplayDialog";

const ALL = "state:dead_letter -resolved:true";

/** What gave up, folded by its cause, and the safe way back. */
export default function DeadLetters() {
  const [q, setQ] = useUrl("q");
  const [open, setOpen] = useUrl("group");
  const [which, setWhich] = useState<Which | null>(null);
  const [doomed, setDoomed] = useState<DeadLetterGroup | null>(null);
  const filter = useCallback((next: string) => setQ(next, true), [setQ]);
  const groups = useQuery({
    queryKey: keys.deadLetterGroups({ q, limit: 100 }),
    queryFn: ({ signal }) => ask<DeadLetterGroups>("/api/dead-letters/groups", { query: { q, limit: 100 }, signal }),
    placeholderData: (before) => before,
    retry: false,
  });
  const bulk = useBulk();
  const mayRun = useMay("run:dead_letter");
  const items = groups.data?.items ?? [];
  const letters = items.reduce((sum, one) => sum + one.count, 0);
  const badFilter = groups.error instanceof ProblemError && Boolean(groups.error.about("q"));
  return (
    <Page
      title="Dead letters"
      state={letters ? "dead_letter" : undefined}
      aside={
        groups.data && letters ? (
          <Go to={`/runs?q=${encodeURIComponent(`${ALL} ${q}`.trim())}`} className="text-muted hover:text-ink">
            {number(letters)} in {number(groups.data.total)} {groups.data.total === 1 ? "group" : "groups"}
          </Go>
        ) : null
      }
      actions={
        <>
          {mayRun && letters ? (
            <Button kind="primary" onClick={() => setWhich({ filter: `${ALL} ${q}`.trim() })}>
              Replay all {number(letters)}…
            </Button>
          ) : null}
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
      {groups.error && !badFilter ? (
        <ErrorCard
          error={groups.error}
          what="The dead letters could not be read"
          onRetry={() => void groups.refetch()}
        />
      ) : null}
      {groups.isPending ? (
        <div role="status" aria-label="Loading" aria-busy className="flex flex-col gap-3">
          {[0, 1, 2].map((row) => (
            <Skeleton key={row} className="h-16 w-full" />
          ))}
        </div>
      ) : !items.length && !groups.error ? (
        q ? (
          <Empty
            title="No dead letter matches this filter"
            actions={<Button onClick={() => filter("")}>Clear the filter</Button>}
          >
            <code className="font-mono">{q}</code>
          </Empty>
        ) : (
          <Empty icon={CircleCheck} title="No dead letters">
            Runs land here after their last attempt fails.
          </Empty>
        )
      ) : (
        items.map((group) => (
          <Group
            key={group.fingerprint}
            group={group}
            open={open === group.fingerprint || items.length === 1}
            onToggle={() => setOpen(open === group.fingerprint ? "" : group.fingerprint)}
            onReplay={setWhich}
            onDiscard={setDoomed}
          />
        ))
      )}
      <ReplayDialog which={which} onClose={() => setWhich(null)} />
      <Confirm
        open={doomed !== null}
        onClose={() => setDoomed(null)}
        danger
        type={doomed ? String(doomed.count) : undefined}
        title={`Discard ${number(doomed?.count ?? 0)} letters?`}
        action={`Discard ${number(doomed?.count ?? 0)}`}
        onConfirm={() =>
          doomed ? bulk({ action: "discard", filter: filterOf(doomed), expect: doomed.count, rate: 50 }) : undefined
        }
      >
        They stay on record as runs and leave this list for good. Nothing is sent. Who did it is written to the audit
        log.
      </Confirm>
    </Page>
  );
}
