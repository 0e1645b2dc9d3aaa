import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";

import type { PipelineDetail, Run } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { ProblemError } from "@/api/problem";
import { useMay } from "@/api/session";
import { useKeys } from "@/frame/keyboard";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { CopyAs } from "@/parts/CopyAs";
import { CopyButton } from "@/parts/CopyButton";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Go } from "@/parts/Go";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { StateBadge } from "@/parts/StateBadge";
import { useAct } from "@/parts/useAct";
import { useGo, useParam } from "@/parts/useUrl";
import { quoted } from "@/words/copying";

import { Broken } from "./pipelines/Broken";
import { Chain } from "./pipelines/Chain";
import { Grid } from "./pipelines/Grid";

const CRUMBS = [{ label: "Pipelines", to: "/pipelines" }];

/** One pipeline: its chain, where it breaks, and its part of the file. */
export default function Pipeline() {
  const name = useParam("name");
  const { data, error, refetch } = useQuery({
    queryKey: keys.pipeline(name),
    queryFn: ({ signal }) => ask<PipelineDetail>(`/api/pipelines/${encodeURIComponent(name)}`, { signal }),
    refetchInterval: 3000,
    retry: false,
  });
  if (data) return <Shown pipeline={data} />;
  return (
    <Page title={name} crumbs={CRUMBS}>
      {error instanceof ProblemError && error.status === 404 ? (
        <Empty
          title={`No pipeline ${name}`}
          actions={
            <Go to="/pipelines" className="text-accent underline">
              All pipelines
            </Go>
          }
        >
          It may have been taken out of its file.
        </Empty>
      ) : error ? (
        <ErrorCard error={error} what="The pipeline could not be read" onRetry={() => void refetch()} />
      ) : (
        <Skeleton className="h-32 w-full" />
      )}
    </Page>
  );
}

function Shown({ pipeline }: { pipeline: PipelineDetail }) {
  const [act, busy] = useAct();
  const go = useGo();
  const may = useMay("run:run") && pipeline.steps.length > 0;
  const run = async (): Promise<void> => {
    const made = await act<Run>(`/api/pipelines/${encodeURIComponent(pipeline.name)}/run`, {}, `${pipeline.name} runs`);
    if (made) go(`/runs/${made.id}`);
  };
  useKeys({ r: may ? () => void run() : undefined });
  const last = pipeline.runs[0];
  return (
    <Page
      title={pipeline.name}
      crumbs={CRUMBS}
      state={pipeline.error ? "failed" : pipeline.last_run?.state}
      aside={pipeline.last_run ? <StateBadge state={pipeline.last_run.state} /> : null}
      actions={
        <>
          {may ? (
            <Button
              kind="primary"
              busy={busy}
              hotkey="r"
              icon={<Play size={14} aria-hidden />}
              title="The whole chain, from its first step"
              onClick={() => void run()}
            >
              {last ? "Run again" : "Run now"}
            </Button>
          ) : null}
          <CopyAs
            call={{
              method: "POST",
              path: `/api/pipelines/${encodeURIComponent(pipeline.name)}/run`,
              cli: `pipeline run ${quoted(pipeline.file)} ${quoted(pipeline.name)}`,
            }}
          />
        </>
      }
    >
      {pipeline.error ? <Broken error={pipeline.error} /> : null}
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm text-muted">
        <span>
          {pipeline.schedule ? (
            <>
              {pipeline.summary} · next <Instant at={pipeline.next_run_at} zone={pipeline.schedule.timezone} />
            </>
          ) : (
            "Runs once for each version of the file"
          )}
        </span>
        {pipeline.schedule_id ? (
          <Go to={`/schedules/${pipeline.schedule_id}`} className="text-accent hover:underline">
            Its schedule
          </Go>
        ) : null}
        <span className="font-mono text-xs">
          {pipeline.file} · {pipeline.revision}
        </span>
      </p>
      <Card title="Chain" aside={last ? "with the counts of the last run" : null}>
        <Chain steps={pipeline.steps} last={last?.steps ?? []} />
      </Card>
      <Card title="Last runs" aside={pipeline.runs.length ? "newest at the right" : null}>
        {pipeline.runs.length ? <Grid pipeline={pipeline} /> : <Empty title="It has not run yet" />}
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
