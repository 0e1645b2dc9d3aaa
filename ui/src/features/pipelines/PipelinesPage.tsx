import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { PipelinePage, PipelineSummary } from "@/api/schema";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { CopyButton } from "@/parts/copy/CopyButton";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { StateBadge } from "@/parts/state/StateBadge";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo } from "@/parts/useUrl";

import { FileError } from "./FileError";

const rowId = (pipeline: PipelineSummary): string => pipeline.name;
const EXAMPLE = "foliot up --pipelines examples/pipelines_scheduled.yml";

type Fault = PipelinePage["faults"][number];

/** Without duplicates: a fault of the file is reported with every pipeline in it. */
const distinct = (faults: Fault[]): [string, Fault][] => [
  ...new Map(faults.map((fault) => [JSON.stringify(fault), fault])),
];

/** The pipelines that the configuration file defines. */
export default function PipelinesPage() {
  const list = useQuery({
    queryKey: queryKeys.pipelines,
    queryFn: ({ signal }) => ask("/api/pipelines", { signal }),
    refetchInterval: 5000,
  });
  const items = list.data?.items ?? [];
  const faults = distinct([...(list.data?.faults ?? []), ...items.flatMap((item) => item.error ?? [])]);
  const [act, busy] = useCommand();
  const go = useNavigateTo();
  const columns = useMemo<Column<PipelineSummary>[]>(
    () => [
      {
        id: "name",
        header: "Pipeline",
        width: "minmax(160px, 1.5fr)",
        card: "lead",
        sort: (pipeline) => pipeline.name,
        cell: (pipeline) => <span className="truncate font-medium">{pipeline.name}</span>,
      },
      {
        id: "steps",
        header: "Steps",
        width: "minmax(200px, 3fr)",
        card: "meta",
        cell: (pipeline) => (
          <span className="truncate text-muted">
            {pipeline.steps.map((step) => step.class.split(".").at(-1)).join(" → ")}
          </span>
        ),
      },
      {
        id: "when",
        header: "When",
        width: "minmax(240px, 2.5fr)",
        card: "none",
        cell: (pipeline) => (
          <span className="truncate">{pipeline.schedule ? pipeline.summary : "once per version of the file"}</span>
        ),
      },
      {
        id: "next",
        header: "Next",
        width: "140px",
        card: "none",
        cell: (pipeline) => <Instant at={pipeline.next_run_at} none="–" />,
      },
      {
        id: "last",
        header: "Last run",
        width: "150px",
        card: "side",
        cell: (pipeline) =>
          pipeline.error ? (
            <StateBadge state="failed" note="file" />
          ) : pipeline.last_run ? (
            <StateBadge state={pipeline.last_run.state} />
          ) : (
            <span className="text-muted">never</span>
          ),
      },
      {
        id: "do",
        header: "",
        width: "80px",
        right: true,
        card: "none",
        cell: (pipeline) =>
          pipeline.steps.length ? (
            <Button
              size="small"
              acts
              needs="run:run"
              disabled={busy}
              onClick={(event) => {
                event.preventDefault();
                event.stopPropagation();
                undoable(`run ${pipeline.name}`, `${pipeline.name} runs`, async () => {
                  const run = await act(
                    "POST",
                    "/api/pipelines/{pipeline}/run",
                    { params: { pipeline: pipeline.name } },
                    `Started ${pipeline.name}`,
                  );
                  if (run && window.location.pathname === "/pipelines") go(`/runs/${run.id}`);
                });
              }}
            >
              Run
            </Button>
          ) : null,
      },
    ],
    [act, busy, go],
  );
  return (
    <Page
      title="Pipelines"
      actions={
        <CopyAs call={{ verb: "List pipelines", method: "GET", path: "/api/pipelines", cli: "pipeline list" }} />
      }
    >
      {faults.map(([key, fault]) => (
        <FileError key={key} error={fault} />
      ))}
      <DataTable
        label="Pipelines"
        columns={columns}
        rows={items}
        rowId={rowId}
        href={(pipeline) => `/pipelines/${encodeURIComponent(pipeline.name)}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        fill={false}
        empty={
          faults.length ? (
            <Empty icon={Workflow} title="No pipelines: the file has errors" />
          ) : (
            <Empty
              icon={Workflow}
              title="No pipelines"
              actions={
                <span className="flex flex-wrap items-center gap-2 rounded border bg-surface px-3 py-1.5 font-mono text-xs">
                  {EXAMPLE} <CopyButton text={EXAMPLE} />
                </span>
              }
            >
              A pipeline is a series of steps in a YAML file: fetch, read, filter, store. Start Foliot with one:
            </Empty>
          )
        }
      />
    </Page>
  );
}
