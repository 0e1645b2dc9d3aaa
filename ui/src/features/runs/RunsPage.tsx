import { useQuery } from "@tanstack/react-query";
import { Ban, Download, Play, RotateCcw } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { toast } from "sonner";

import { ask, pathOf } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { BulkOperation, Run } from "@/api/schema";
import { usePermission } from "@/api/session";
import { useStartBulk } from "@/features/bulk/useStartBulk";
import { RUN_FIELDS } from "@/features/filters/fields";
import { FilterBox } from "@/features/filters/FilterBox";
import { withKey } from "@/features/filters/grammar";
import { SavedViews } from "@/features/filters/SavedViews";
import { useOffline } from "@/live/live";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { downloadUrl } from "@/parts/copy/download";
import { command } from "@/parts/copy/snippets";
import { cx } from "@/parts/cx";
import { Empty } from "@/parts/Empty";
import { shortId } from "@/parts/Id";
import { Menu } from "@/parts/Menu";
import { Page } from "@/parts/Page";
import { FINAL } from "@/parts/state/states";
import { DataTable } from "@/parts/table/DataTable";
import { SelectionBar } from "@/parts/table/SelectionBar";
import { useLiveList } from "@/parts/table/useLiveList";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { useNarrow } from "@/parts/useSize";
import { useNavigateTo, useSetUrl, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { mark, number } from "@/time/moment";

import { runColumns } from "./list/columns";
import { RunsChart } from "./list/RunsChart";
import { StateChips } from "./list/StateChips";

const rowId = (run: Run): string => run.id;
const EXPORTS = [
  ["csv", "CSV"],
  ["ndjson", "NDJSON (one per line)"],
] as const;
const VIEWS = [
  { name: "Failed, 24 h", q: "state:failed,dead_letter since:24h" },
  { name: "Late, 24 h", q: "late:true since:24h" },
];

export default function RunsPage() {
  const [q, setQ] = useUrl("q");
  const zone = useZone();
  const go = useNavigateTo();
  const [order, setOrder] = useUrl("sort");
  const query = useMemo(() => (order ? { q, sort: order } : { q }), [q, order]);
  const list = useLiveList({ path: "/api/runs", query, topic: "runs", rowId });
  const columns = useMemo(() => runColumns(mark(Date.now(), zone)), [zone]);
  const setUrl = useSetUrl();
  const open = (next: string, sort: string): void => setUrl({ q: next, sort });
  const filter = useCallback((next: string) => setQ(next, true), [setQ]);

  const narrow = useNarrow();
  // On a narrow screen the list comes first; an address that names a chart shows the chart.
  const [chart] = useUrl("chart");
  const [drawn, setDrawn] = useState(chart !== "");

  const without = withKey(q, "state", null);
  const count = useQuery({
    queryKey: queryKeys.runsCount({ q: without }),
    queryFn: ({ signal }) => ask("/api/runs/count", { query: { q: without }, signal }),
    placeholderData: (before) => before,
    // The rows first: counting a million runs may take longer than finding fifty.
    enabled: !list.loading,
  });
  const matching = useQuery({
    queryKey: queryKeys.runsCount({ q }),
    queryFn: ({ signal }) => ask("/api/runs/count", { query: { q }, signal }),
    placeholderData: (before) => before,
    enabled: !list.loading,
  }).data?.count;

  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [everything, setEverything] = useState(false);
  const [asking, setAsking] = useState<BulkOperation | null>(null);
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
  const bulk = useStartBulk();
  const [act] = useCommand();
  const mayRun = usePermission("run:run");
  const mayCancel = usePermission("write:run");
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
              onSelect: () => downloadUrl(pathOf("/api/runs/export", { query: { q, format } }), `runs.${format}`),
            }))}
          />
          <CopyAs
            call={{
              verb: "List runs",
              method: "GET",
              path: pathOf("/api/runs", { query: { ...query, limit: 50 } }),
              cli: command("run list", { "--query": q, "--sort": order }),
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
          <SavedViews list="runs" fixed={VIEWS} q={q} sort={order} wait={list.loading} onChoose={open} />
        </div>
        <StateChips count={count.data} q={q} onChange={filter} />
      </div>
      {badFilter ? null : (
        <>
          {narrow ? (
            <div>
              <Button size="small" aria-expanded={drawn} onClick={() => setDrawn(!drawn)}>
                {drawn ? "Hide chart" : "Show chart"}
              </Button>
            </div>
          ) : null}
          {drawn || !narrow ? <RunsChart q={q} onChange={filter} wait={list.loading} /> : null}
        </>
      )}
      {/* On a narrow screen the chart leaves no height for a list: the page scrolls instead of the list. */}
      <div className={cx("flex min-h-0 flex-1 flex-col", drawn && "max-md:min-h-[70vh]")}>
        <DataTable
          label="Runs"
          columns={columns}
          rows={badFilter ? [] : list.rows}
          rowId={rowId}
          order={order}
          onOrder={(to) => setOrder(to, true)}
          href={(run) => `/runs/${run.id}`}
          selection={mayCancel || mayRun ? selection : undefined}
          loading={list.loading}
          error={badFilter ? null : list.error}
          onRetry={list.refetch}
          hasMore={list.hasMore}
          onMore={list.more}
          newRows={list.newRows}
          onShowNew={list.showNew}
          rowKeys={{
            r: (run) =>
              mayRun &&
              !offline &&
              FINAL.has(run.state) &&
              undoable(`replay ${run.id}`, `${run.schedule_name ?? "The run"} runs again`, () => again(run)),
            c: (run) =>
              mayCancel &&
              !offline &&
              !FINAL.has(run.state) &&
              undoable(`cancel ${run.id}`, `${run.schedule_name ?? "The run"} is cancelled`, () =>
                act("POST", "/api/runs/{run_id}/cancel", { params: { run_id: run.id } }, "Cancelling"),
              ),
          }}
          empty={
            badFilter ? (
              <Empty title="Invalid filter">Fix the error shown above to see runs.</Empty>
            ) : q ? (
              <Empty
                title="No runs match this filter"
                actions={<Button onClick={() => filter("")}>Clear filter</Button>}
              >
                <code className="font-mono">{q}</code>
              </Empty>
            ) : (
              <Empty
                icon={Play}
                title="No runs yet"
                cli={`schedule create hello --every 1m --url ${window.location.origin}/api/echo/hello`}
              >
                Runs appear when a schedule is due or you press Run now on its page. Create a first schedule:
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
            All that match <code className="font-mono">{q || "no filter"}</code> right now. If that number changes
            before the server starts, nothing is done.
          </>
        ) : (
          "Processed at five per second. You can follow, pause or stop it."
        )}
      </Confirm>
    </Page>
  );

  async function again(run: Run): Promise<void> {
    const made = await act("POST", "/api/runs/{run_id}/retry", { params: { run_id: run.id } });
    if (made)
      toast.success(`Run again as ${shortId(made.id)}`, {
        action: { label: "View run", onClick: () => go(`/runs/${made.id}`) },
      });
  }
}
