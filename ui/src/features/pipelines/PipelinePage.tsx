import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { PipelineDetail } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { CopyAs } from "@/parts/copy/CopyAs";
import { CopyButton } from "@/parts/copy/CopyButton";
import { shellQuoted } from "@/parts/copy/snippets";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { StateBadge } from "@/parts/state/StateBadge";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { useKeys } from "@/parts/useKeys";
import { useNavigateTo, useParam } from "@/parts/useUrl";

import { FileError } from "./FileError";
import { StepChain } from "./StepChain";
import { StepGrid } from "./StepGrid";

const CRUMBS = [{ label: "Pipelines", to: "/pipelines" }];

/** One pipeline: its steps, their outcomes in the last runs, and its definition. */
export default function PipelinePage() {
  const name = useParam("name");
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.pipeline(name),
    queryFn: ({ signal }) => ask("/api/pipelines/{pipeline}", { params: { pipeline: name }, signal }),
    refetchInterval: 3000,
    retry: false,
  });
  if (data) return <PipelineView pipeline={data} />;
  return (
    <Page title={name} crumbs={CRUMBS}>
      {error instanceof ProblemError && error.status === 404 ? (
        <Empty
          title={`No pipeline ${name}`}
          actions={
            <Link to="/pipelines" className="text-accent underline">
              All pipelines
            </Link>
          }
        >
          It may have been removed from its file.
        </Empty>
      ) : error ? (
        <ErrorCard error={error} what="Could not load the pipeline" onRetry={() => void refetch()} />
      ) : (
        <Skeleton className="h-32 w-full" />
      )}
    </Page>
  );
}

function PipelineView({ pipeline }: { pipeline: PipelineDetail }) {
  const [act, busy] = useCommand();
  const go = useNavigateTo();
  const address = `/pipelines/${encodeURIComponent(pipeline.name)}`;
  const may = usePermission("run:run") && pipeline.steps.length > 0;
  const run = async (): Promise<void> => {
    const made = await act(
      "POST",
      "/api/pipelines/{pipeline}/run",
      { params: { pipeline: pipeline.name } },
      `Started ${pipeline.name}`,
    );
    // Only from the page it was asked on: in five seconds a person may have gone elsewhere.
    if (made && window.location.pathname === address) go(`/runs/${made.id}`);
  };
  const runSoon = (): void => undoable(`run ${pipeline.name}`, `${pipeline.name} runs`, run);
  useKeys({ r: may ? runSoon : undefined });
  const last = pipeline.runs[0];
  return (
    <Page
      title={pipeline.name}
      crumbs={CRUMBS}
      state={pipeline.error ? "failed" : pipeline.last_run?.state}
      aside={pipeline.last_run ? <StateBadge state={pipeline.last_run.state} /> : null}
      actions={
        <>
          {pipeline.steps.length ? (
            <Button
              kind="primary"
              needs="run:run"
              busy={busy}
              hotkey="r"
              icon={<Play size={14} aria-hidden />}
              title="Runs all steps from the start"
              onClick={runSoon}
            >
              {last ? "Run again" : "Run now"}
            </Button>
          ) : null}
          <CopyAs
            call={{
              verb: "Run this pipeline now",
              method: "POST",
              path: `/api/pipelines/${encodeURIComponent(pipeline.name)}/run`,
              cli: `pipeline start ${shellQuoted(pipeline.name)}`,
            }}
          />
        </>
      }
    >
      {pipeline.error ? <FileError error={pipeline.error} /> : null}
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm text-muted">
        <span>
          {pipeline.schedule ? (
            <>
              {pipeline.summary} · next <Instant at={pipeline.next_run_at} zone={pipeline.schedule.timezone} />
            </>
          ) : (
            "Runs once per version of the file"
          )}
        </span>
        {pipeline.schedule_id ? (
          <Link to={`/schedules/${pipeline.schedule_id}`} className="text-accent hover:underline">
            View schedule
          </Link>
        ) : null}
        <span className="font-mono text-xs">
          {pipeline.file} · {pipeline.revision}
        </span>
      </p>
      <Card title="Steps" aside={last ? "counts from the last run" : null}>
        <StepChain steps={pipeline.steps} last={last?.steps ?? []} />
      </Card>
      <Card title="Recent runs" aside={pipeline.runs.length ? "newest on the right" : null}>
        {pipeline.runs.length ? <StepGrid pipeline={pipeline} /> : <Empty title="Never run" />}
      </Card>
      <Card title="YAML" aside={<CopyButton text={pipeline.yaml} label="Copy" />} flush>
        <pre tabIndex={0} className="max-h-[50vh] overflow-auto p-4 font-mono text-xs">
          {pipeline.yaml.split("\n").map((line, index) => (
            <span key={index} className="block whitespace-pre">
              {line || " "}
            </span>
          ))}
        </pre>
      </Card>
    </Page>
  );
}
