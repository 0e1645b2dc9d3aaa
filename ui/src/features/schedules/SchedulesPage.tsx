import { Plus } from "lucide-react";
import { useCallback, useMemo, useState } from "react";

import { pathOf } from "@/api/client";
import { USUAL_ORDERS } from "@/api/firstRows";
import { ProblemError } from "@/api/problem";
import type { BulkAction, Schedule } from "@/api/schema";
import { usePermission } from "@/api/session";
import { BulkStatusBar } from "@/features/bulk/BulkStatusBar";
import { SCHEDULE_FIELDS } from "@/features/filters/fields";
import { FilterBox } from "@/features/filters/FilterBox";
import { quoteValue, withKey } from "@/features/filters/grammar";
import { SavedViews } from "@/features/filters/SavedViews";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { command } from "@/parts/copy/snippets";
import { Empty } from "@/parts/Empty";
import { Page } from "@/parts/Page";
import { DataTable } from "@/parts/table/DataTable";
import { useLiveList } from "@/parts/table/useLiveList";
import { undoable } from "@/parts/undoable";
import { useNavigateTo, useSetUrl, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";

import { useHealthUpdates } from "./health";
import { BulkActionBar } from "./list/BulkActionBar";
import { columnsOf } from "./list/columns";
import { TemplateCards } from "./list/TemplateCards";
import { PauseDialog } from "./PauseDialog";
import { useScheduleActions } from "./useScheduleActions";

const rowId = (row: Schedule): string => row.id;
const VIEWS = [
  { name: "Failing", q: "failing:true" },
  { name: "Paused", q: "status:paused" },
  { name: "Completed", q: "status:completed" },
];

export default function SchedulesPage() {
  const [q, setQ] = useUrl("q");
  const zone = useZone();
  const go = useNavigateTo();
  const [order, setOrder] = useUrl("sort");
  const sort = order || USUAL_ORDERS["/schedules"];
  const query = useMemo(() => ({ q, sort }), [q, sort]);
  const list = useLiveList({ path: "/api/schedules", query, topic: "schedules", rowId });
  useHealthUpdates();

  const [ids, setIds] = useState<ReadonlySet<string>>(new Set<string>());
  const [everything, setEverything] = useState(false);
  const [bulk, setBulk] = useState<BulkAction | null>(null);
  const [pausing, setPausing] = useState<Schedule | null>(null);
  const acts = useScheduleActions(list.refetch);
  const [mayRun, mayWrite] = [usePermission("run:schedule"), usePermission("write:schedule")];

  const clear = useCallback(() => {
    setIds(new Set());
    setEverything(false);
  }, []);
  const setUrl = useSetUrl();
  const open = (next: string, to: string): void => {
    clear();
    setUrl({ q: next, sort: to });
  };
  const choose = (next: string): void => {
    clear();
    setQ(next, true);
  };
  const onTag = useCallback((tag: string) => setQ(withKey(q, "tag", quoteValue(tag)), true), [q, setQ]);
  const misread = list.error instanceof ProblemError && list.error.about("q") !== undefined;
  const zoneMark = mark(Date.now(), zone);
  const columns = useMemo(() => columnsOf(zoneMark, onTag), [zoneMark, onTag]);

  return (
    <Page
      title="Schedules"
      fill
      actions={
        <>
          <CopyAs
            call={{
              verb: "List schedules",
              method: "GET",
              path: pathOf("/api/schedules", { query: q ? { q, sort } : { sort } }),
              cli: command("schedule list", { "--sort": sort, "--search": q }),
            }}
          />
          <Button
            kind="primary"
            needs="write:schedule"
            icon={<Plus size={14} aria-hidden />}
            hotkey="n"
            onClick={() => go("/schedules/new")}
          >
            New schedule
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2 md:flex-row md:items-start">
        <FilterBox
          value={q}
          onChange={choose}
          fields={SCHEDULE_FIELDS}
          placeholder="name, tag:prices failing:true zone:Europe/Stockholm"
          error={list.error}
          label="Filter schedules"
        />
        <SavedViews list="schedules" fixed={VIEWS} q={q} sort={order} wait={list.loading} onChoose={open} />
      </div>
      {bulk ? <BulkStatusBar key={bulk.id} started={bulk} onClose={() => setBulk(null)} onOver={list.refetch} /> : null}
      <DataTable
        label="Schedules"
        columns={columns}
        rows={list.rows}
        rowId={rowId}
        rowHeight={36}
        order={order}
        onOrder={(to) => setOrder(to, true)}
        href={(row) => `/schedules/${row.id}`}
        selection={{
          ids,
          set: (next) => {
            setEverything(false);
            setIds(next);
          },
        }}
        loading={list.loading}
        error={misread ? null : list.error}
        onRetry={list.refetch}
        hasMore={list.hasMore}
        onMore={list.more}
        newRows={list.newRows}
        onShowNew={list.showNew}
        rowKeys={{
          ...(mayWrite
            ? {
                e: (row: Schedule) => go(`/schedules/${row.id}/edit`),
                p: (row: Schedule) =>
                  row.status === "paused" ? void acts.resume(row).catch(() => undefined) : setPausing(row),
              }
            : {}),
          ...(mayRun
            ? {
                r: (row: Schedule) =>
                  undoable(`run ${row.id}`, `${row.name} runs`, () => acts.runNow(row).catch(() => undefined)),
              }
            : {}),
        }}
        empty={
          misread ? (
            <Empty title="Invalid filter" actions={<Button onClick={() => choose("")}>Clear filter</Button>}>
              Fix the error shown below the filter.
            </Empty>
          ) : q ? (
            <Empty title="No schedules match" actions={<Button onClick={() => choose("")}>Clear filter</Button>}>
              No results for <code className="font-mono">{q}</code>. Deleted schedules are not shown.
            </Empty>
          ) : (
            <TemplateCards />
          )
        }
      />
      <BulkActionBar
        q={q}
        chosen={{ ids, everything }}
        onEverything={() => setEverything(true)}
        onClear={clear}
        onStarted={setBulk}
      />
      <PauseDialog schedule={pausing} onClose={() => setPausing(null)} onPause={acts.pause} />
    </Page>
  );
}
