import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { useMemo } from "react";

import type { Pipeline, PipelineList, Run } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useMay } from "@/api/session";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/CopyAs";
import { CopyButton } from "@/parts/CopyButton";
import { type Column, DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { StateBadge } from "@/parts/StateBadge";
import { useAct } from "@/parts/useAct";
import { useGo } from "@/parts/useUrl";

import { Broken } from "./pipelines/Broken";

const rowId = (pipeline: Pipeline): string => pipeline.name;
const EXAMPLE = "foliot up --pipelines examples/pipelines_scheduled.yml";

type Fault = PipelineList["faults"][number];

/** Each once: what keeps a file from being read stands beside every pipeline of it. */
const told = (faults: Fault[]): [string, Fault][] => [
  ...new Map(faults.map((fault) => [JSON.stringify(fault), fault])),
];

/** Chains of steps that a file defines. */
export default function Pipelines() {
  const list = useQuery({
    queryKey: keys.pipelines,
    queryFn: ({ signal }) => ask<PipelineList>("/api/pipelines", { signal }),
    refetchInterval: 5000,
  });
  const items = list.data?.items ?? [];
  const faults = told([...(list.data?.faults ?? []), ...items.flatMap((one) => one.error ?? [])]);
  const may = useMay("run:run");
  const [act, busy] = useAct();
  const go = useGo();
  const columns = useMemo<Column<Pipeline>[]>(
    () => [
      {
        id: "name",
        header: "Pipeline",
        width: "minmax(160px, 1.5fr)",
        card: "lead",
        sort: (one) => one.name,
        cell: (one) => <span className="truncate font-medium">{one.name}</span>,
      },
      {
        id: "steps",
        header: "Steps",
        width: "minmax(200px, 3fr)",
        card: "meta",
        cell: (one) => (
          <span className="truncate text-muted">
            {one.steps.map((step) => step.class.split(".").at(-1)).join(" → ")}
          </span>
        ),
      },
      {
        id: "when",
        header: "Runs",
        width: "minmax(140px, 2.5fr)",
        card: "none",
        cell: (one) => (
          <span className="truncate">{one.schedule ? one.summary : "once for each version of the file"}</span>
        ),
      },
      {
        id: "next",
        header: "Next",
        width: "140px",
        card: "none",
        cell: (one) => <Instant at={one.next_run_at} none="–" />,
      },
      {
        id: "last",
        header: "Last run",
        width: "150px",
        card: "side",
        cell: (one) =>
          one.error ? (
            <StateBadge state="failed" note="file" />
          ) : one.last_run ? (
            <StateBadge state={one.last_run.state} />
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
        cell: (one) =>
          may && one.steps.length ? (
            <Button
              size="small"
              disabled={busy}
              onClick={(event) => {
                event.preventDefault();
                event.stopPropagation();
                void act<Run>(`/api/pipelines/${encodeURIComponent(one.name)}/run`, {}, `${one.name} runs`).then(
                  (run) => run && go(`/runs/${run.id}`),
                );
              }}
            >
              Run
            </Button>
          ) : null,
      },
    ],
    [act, busy, go, may],
  );
  return (
    <Page title="Pipelines" actions={<CopyAs call={{ method: "GET", path: "/api/pipelines", cli: "pipeline list" }} />}>
      {faults.map(([key, fault]) => (
        <Broken key={key} error={fault} />
      ))}
      <DataTable
        label="Pipelines"
        columns={columns}
        rows={items}
        rowId={rowId}
        href={(one) => `/pipelines/${encodeURIComponent(one.name)}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        fill={false}
        empty={
          faults.length ? (
            <Empty icon={Workflow} title="No pipelines: their file is not in order" />
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
              A pipeline is a chain of steps in a YAML file: fetch, read, filter, keep. Start Foliot with one:
            </Empty>
          )
        }
      />
    </Page>
  );
}
