import { useQuery } from "@tanstack/react-query";
import { Ban, Download, Play, RotateCcw } from "lucide-react";
import { useCallback, useMemo, useState } from "react";

import type { BulkAction, Run, RunCount } from "@/api/calls";
import { ask, pathOf } from "@/api/client";
import { keys } from "@/api/keys";
import { ProblemError } from "@/api/problem";
import { useMay } from "@/api/session";
import { useOffline } from "@/live/live";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/CopyAs";
import { cx } from "@/parts/cx";
import { DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { FilterBox } from "@/parts/FilterBox";
import { Menu } from "@/parts/Menu";
import { Page } from "@/parts/Page";
import { SelectionBar } from "@/parts/SelectionBar";
import { useAct } from "@/parts/useAct";
import { useBulk } from "@/parts/useBulk";
import { useLiveList } from "@/parts/useLiveList";
import { useNarrow } from "@/parts/useSize";
import { useGo, useUrl } from "@/parts/useUrl";
import { Views } from "@/parts/Views";
import { useZone } from "@/prefs";
import { mark, number } from "@/time/moment";
import { quoted } from "@/words/copying";
import { RUN_FIELDS } from "@/words/fields";
import { withKey } from "@/words/filter";
import { saveFrom } from "@/words/saving";
import { FINAL } from "@/words/states";

import { runColumns } from "./runs/columns";
import { RunsChart } from "./runs/RunsChart";
import { StateChips } from "./runs/StateChips";

const rowId = (run: Run): string => run.id;
const EXPORTS = [
  ["csv", "CSV, a table"],
  ["ndjson", "NDJSON, a document per line"],
] as const;
const VIEWS = [
  { name: "Failed, 24 h", q: "state:failed,dead_letter since:24h" },
  { name: "Late, 24 h", q: "late:true since:24h" },
];

export default function Runs() {
  const [q, setQ] = useUrl("q");
  const zone = useZone();
  const go = useGo();
  const query = useMemo(() => ({ q }), [q]);
  const list = useLiveList<Run>({ path: "/api/runs", query, topic: "runs", rowId });
  const columns = useMemo(() => runColumns(mark(Date.now(), zone)), [zone]);
  const filter = useCallback((next: string) => setQ(next, true), [setQ]);

  const narrow = useNarrow();
  // On a telephone the list comes first; a link to a picture shows it.
  const [chart] = useUrl("chart");
  const [drawn, setDrawn] = useState(chart !== "");

  const without = withKey(q, "state", null);
  const count = useQuery({
    queryKey: keys.runsCount({ q: without }),
    queryFn: ({ signal }) => ask<RunCount>("/api/runs/count", { query: { q: without }, signal }),
    placeholderData: (before) => before,
    // The rows first: counting a million may take longer than finding fifty.
    enabled: !list.loading,
  });
  const matching = useQuery({
    queryKey: keys.runsCount({ q }),
    queryFn: ({ signal }) => ask<RunCount>("/api/runs/count", { query: { q }, signal }),
    placeholderData: (before) => before,
    enabled: !list.loading,
  }).data?.count;

  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [everything, setEverything] = useState(false);
  const [asking, setAsking] = useState<BulkAction | null>(null);
  const selection = useMemo(
    () => ({
      ids: picked,
      set: (ids: Set<string>) => {
        setPicked(ids);
        setEverything(false);
      },
    }),
    [picked],
  );
  const clear = (): void => selection.set(new Set());
  const bulk = useBulk();
  const [act] = useAct();
  const mayRun = useMay("run:run");
  const mayCancel = useMay("write:run");
  const offline = useOffline();
  const many = everything ? (matching ?? 0) : picked.size;
  const badFilter = list.error instanceof ProblemError && Boolean(list.error.about("q"));

  return (
    <Page
      title="Runs"
      fill
      aside={
        matching === undefined || badFilter ? null : <span className="text-muted">{number(matching)} matching</span>
      }
      actions={
        <>
          <Menu
            trigger={
              <Button acts icon={<Download size={14} aria-hidden />}>
                Export
              </Button>
            }
            items={EXPORTS.map(([format, label]) => ({
              label: matching === undefined ? label : `${number(matching)} as ${label}`,
              onSelect: () => saveFrom(pathOf("/api/runs/export", { q, format }), `runs.${format}`),
            }))}
          />
          <CopyAs
            call={{
              method: "GET",
              path: pathOf("/api/runs", { q, limit: 50 }),
              cli: q ? `run list -q ${quoted(q)}` : "run list",
            }}
          />
        </>
      }
    >
      <div className="flex flex-col gap-2">
        <div className="flex flex-col gap-2 md:flex-row md:items-start">
          <FilterBox
            value={q}
            onChange={filter}
            fields={RUN_FIELDS}
            error={list.error}
            placeholder='state:failed schedule:nightly since:24h "text"'
          />
          <Views list="runs" fixed={VIEWS} q={q} wait={list.loading} onChoose={filter} />
        </div>
        <StateChips count={count.data} q={q} onChange={filter} />
      </div>
      {badFilter ? null : (
        <>
          {narrow ? (
            <div>
              <Button size="small" aria-expanded={drawn} onClick={() => setDrawn(!drawn)}>
                {drawn ? "Hide the picture" : "Show as a picture"}
              </Button>
            </div>
          ) : null}
          {drawn || !narrow ? <RunsChart q={q} onChange={filter} wait={list.loading} /> : null}
        </>
      )}
      {/* Below the picture a telephone has no room left for a list: then the page scrolls, not the list alone. */}
      <div className={cx("flex min-h-0 flex-1 flex-col", drawn && "max-md:min-h-[70vh]")}>
        <DataTable
          label="Runs"
          columns={columns}
          rows={badFilter ? [] : list.rows}
          rowId={rowId}
          href={(run) => `/runs/${run.id}`}
          selection={mayCancel || mayRun ? selection : undefined}
          loading={list.loading}
          error={badFilter ? null : list.error}
          onRetry={list.refetch}
          hasMore={list.hasMore}
          onMore={list.more}
          fresh={list.fresh}
          onFresh={list.showFresh}
          rowKeys={{
            r: (run) => mayRun && !offline && FINAL.has(run.state) && void again(run),
            c: (run) =>
              mayCancel &&
              !offline &&
              !FINAL.has(run.state) &&
              void act(`/api/runs/${run.id}/cancel`, {}, "Asked to stop"),
          }}
          empty={
            badFilter ? (
              <Empty title="The filter is not understood">
                The line above says where. Nothing is listed until it is put right.
              </Empty>
            ) : q ? (
              <Empty
                title="No run matches this filter"
                actions={<Button onClick={() => filter("")}>Clear the filter</Button>}
              >
                <code className="font-mono">{q}</code>
              </Empty>
            ) : (
              <Empty icon={Play} title="No runs yet">
                Runs appear when a schedule fires or you press Run.
              </Empty>
            )
          }
        />
      </div>
      <SelectionBar
        count={picked.size}
        matching={matching}
        everything={everything}
        onEverything={() => setEverything(true)}
        onClear={clear}
        noun="runs"
      >
        {mayRun ? (
          <Button acts size="small" icon={<RotateCcw size={13} aria-hidden />} onClick={() => setAsking("retry")}>
            Run {number(many)} again
          </Button>
        ) : null}
        {mayCancel ? (
          <Button
            acts
            size="small"
            kind="danger"
            icon={<Ban size={13} aria-hidden />}
            onClick={() => setAsking("cancel")}
          >
            Cancel {number(many)}
          </Button>
        ) : null}
      </SelectionBar>
      <Confirm
        open={asking !== null}
        onClose={() => setAsking(null)}
        danger={asking === "cancel"}
        title={asking === "cancel" ? `Cancel ${number(many)} runs?` : `Run ${number(many)} again?`}
        action={asking === "cancel" ? `Cancel ${number(many)}` : `Run ${number(many)} again`}
        onConfirm={async () => {
          const which = everything ? { filter: q, expect: matching } : { ids: [...picked] };
          await bulk({ action: asking ?? "cancel", ...which });
          clear();
        }}
      >
        {everything ? (
          <>
            All that match <code className="font-mono">{q || "no filter"}</code> at this moment. If their number changes
            before the server starts, it refuses.
          </>
        ) : (
          "It happens one after the other, five a second. You can watch, pause and stop it."
        )}
      </Confirm>
    </Page>
  );

  async function again(run: Run): Promise<void> {
    const made = await act<Run>(`/api/runs/${run.id}/retry`, {}, `Run again`);
    if (made) go(`/runs/${made.id}`);
  }
}
