import { Plus } from "lucide-react";
import { useCallback, useMemo, useState } from "react";

import type { Bulk, Schedule } from "@/api/calls";
import { ProblemError } from "@/api/problem";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/CopyAs";
import { DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { FilterBox } from "@/parts/FilterBox";
import { Page } from "@/parts/Page";
import { Views } from "@/parts/Views";
import { useLiveList } from "@/parts/useLiveList";
import { useGo, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { mark } from "@/time/moment";
import { quoted } from "@/words/copying";
import { SCHEDULE_FIELDS } from "@/words/fields";
import { withKey, written } from "@/words/filter";

import { useActs } from "./schedule/acts";
import { PauseDialog } from "./schedule/PauseDialog";
import { Beginnings } from "./schedules/Beginnings";
import { BulkBar } from "./schedules/Bulk";
import { BulkProgress } from "./schedules/BulkProgress";
import { columnsOf } from "./schedules/columns";
import { useHealthKept } from "./schedules/health";

const rowId = (row: Schedule): string => row.id;
const VIEWS = [
  { name: "Failing", q: "failing:true" },
  { name: "Paused", q: "status:paused" },
  { name: "Completed", q: "status:completed" },
];

export default function Schedules() {
  const [q, setQ] = useUrl("q");
  const zone = useZone();
  const go = useGo();
  const query = useMemo(() => ({ q }), [q]);
  const list = useLiveList<Schedule>({ path: "/api/schedules", query, topic: "schedules", rowId });
  useHealthKept();

  const [ids, setIds] = useState<ReadonlySet<string>>(new Set<string>());
  const [everything, setEverything] = useState(false);
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const [pausing, setPausing] = useState<Schedule | null>(null);
  const acts = useActs(list.refetch);
  const [mayRun, mayWrite] = [useMay("run:schedule"), useMay("write:schedule")];

  const clear = useCallback(() => {
    setIds(new Set());
    setEverything(false);
  }, []);
  const choose = (next: string): void => {
    clear();
    setQ(next, true);
  };
  const onTag = useCallback((tag: string) => setQ(withKey(q, "tag", written(tag)), true), [q, setQ]);
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
              method: "GET",
              path: `/api/schedules${q ? `?q=${encodeURIComponent(q)}` : ""}`,
              cli: q ? `schedule list --search ${quoted(q)}` : "schedule list",
            }}
          />
          {mayWrite ? (
            <Button
              kind="primary"
              icon={<Plus size={14} aria-hidden />}
              hotkey="n"
              onClick={() => go("/schedules/new")}
            >
              New schedule
            </Button>
          ) : null}
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
        <Views list="schedules" fixed={VIEWS} q={q} wait={list.loading} onChoose={choose} />
      </div>
      {bulk ? <BulkProgress key={bulk.id} started={bulk} onClose={() => setBulk(null)} onOver={list.refetch} /> : null}
      <DataTable
        label="Schedules"
        columns={columns}
        rows={list.rows}
        rowId={rowId}
        rowHeight={48}
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
        fresh={list.fresh}
        onFresh={list.showFresh}
        rowKeys={{
          ...(mayWrite
            ? {
                e: (row: Schedule) => go(`/schedules/${row.id}/edit`),
                p: (row: Schedule) =>
                  row.status === "paused" ? void acts.resume(row).catch(() => undefined) : setPausing(row),
              }
            : {}),
          ...(mayRun ? { r: (row: Schedule) => void acts.runNow(row).catch(() => undefined) } : {}),
        }}
        empty={
          misread ? (
            <Empty
              title="The filter is not understood"
              actions={<Button onClick={() => choose("")}>Clear the filter</Button>}
            >
              What is wrong stands below the box.
            </Empty>
          ) : q ? (
            <Empty title="No schedule matches" actions={<Button onClick={() => choose("")}>Clear the filter</Button>}>
              Nothing fits <code className="font-mono">{q}</code>. Deleted schedules are not listed.
            </Empty>
          ) : (
            <Beginnings />
          )
        }
      />
      <BulkBar
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
