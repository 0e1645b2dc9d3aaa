import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, ChevronLeft, ChevronRight, RotateCcw } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import type { Run as RunAnswer, Schedule } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { ProblemError } from "@/api/problem";
import { useMay } from "@/api/session";
import { useKeys } from "@/frame/keyboard";
import { useOffline, useTopic } from "@/live/live";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/CopyAs";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Go } from "@/parts/Go";
import { Json } from "@/parts/Json";
import { Page } from "@/parts/Page";
import { shortId } from "@/parts/Id";
import { Skeleton } from "@/parts/Skeleton";
import { Tabs } from "@/parts/Tabs";
import { useAct } from "@/parts/useAct";
import { useGo, useParam, useUrl } from "@/parts/useUrl";
import { FINAL } from "@/words/states";

import { again, bySettings, isLetter } from "./run/again";
import { Attempts } from "./run/Attempts";
import { AttemptsTab } from "./run/AttemptsTab";
import { editable, EditReplay } from "./run/EditReplay";
import { EventsTab } from "./run/EventsTab";
import { Facts } from "./run/Facts";
import { Failure } from "./run/Failure";
import { LogViewer } from "./run/log/LogViewer";
import { ProgressBand } from "./run/ProgressBand";
import { Related } from "./run/Related";
import { Result } from "./run/Result";
import { useNeighbours } from "./run/useNeighbours";

export default function Run() {
  const id = useParam("id");
  // Another run is another page: nothing of the one before stays.
  return <Loaded key={id} id={id} />;
}

function Loaded({ id }: { id: string }) {
  const queries = useQueryClient();
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    queryKey: keys.run(id),
    queryFn: ({ signal }) => ask<RunAnswer>(`/api/runs/${id}`, { signal }),
    // Nothing more is told of a run that has ended; that it was deleted is found out by asking.
    refetchInterval: 10_000,
    refetchOnWindowFocus: "always",
  });
  const [gone, setGone] = useState(false);
  useTopic(`run:${id}`, (told) => {
    if (told.type === "gone") setGone(true);
    else if (told.data && typeof told.data === "object" && "state" in told.data)
      queries.setQueryData(keys.run(id), told.data);
  });
  if (run) return <Shown run={run} gone={gone || (error instanceof ProblemError && error.status === 404)} />;
  const missing = error instanceof ProblemError && error.status === 404;
  return (
    <Page title={shortId(id)} crumbs={[{ label: "Runs", to: "/runs" }]}>
      {missing ? (
        <Empty
          title={`No run ${id}`}
          actions={
            <Go to="/runs" className="text-accent underline">
              All runs
            </Go>
          }
        >
          It may have been removed by retention, or belong to another tenant.
        </Empty>
      ) : error ? (
        <ErrorCard error={error} what="The run could not be read" onRetry={() => void refetch()} />
      ) : (
        <div className="flex flex-col gap-4" role="status" aria-label="Loading">
          <Skeleton className="h-5 w-2/3" />
          <Skeleton className="h-96 w-full" />
        </div>
      )}
    </Page>
  );
}

function Shown({ run, gone }: { run: RunAnswer; gone: boolean }) {
  const go = useGo();
  const [act, busy] = useAct();
  const [, setTab] = useUrl("tab", "log");
  const [jump, setJump] = useState(0);
  const [edit, setEdit] = useUrl("edit");
  const editing = edit === "1";
  const setEditing = (open: boolean): void => setEdit(open ? "1" : "");
  const mayRun = useMay(isLetter(run) ? "run:dead_letter" : "run:run");
  const mayRunSchedule = useMay("run:schedule");
  const mayCancel = useMay("write:run");
  const offline = useOffline();
  const final = FINAL.has(run.state);
  const chain = run.kind === "pipeline";
  const { before, after } = useNeighbours(run);
  const schedule = useQuery({
    queryKey: keys.schedule(run.schedule_id ?? ""),
    queryFn: ({ signal }) => ask<Schedule>(`/api/schedules/${run.schedule_id}`, { signal }),
    enabled: run.schedule_id !== null,
  }).data;

  const cancel = (): void =>
    void act(`/api/runs/${run.id}/cancel`, {}, run.state === "running" ? "Asked to stop" : "Cancelled");
  const repeat = async (): Promise<void> => {
    const made = await again(act, run);
    if (!made) return;
    go(`/runs/${made.id}`);
    toast.success(`${chain ? "Runs again" : "Replayed"} as ${shortId(made.id)}${bySettings(run, made)}`, {
      action: { label: "Back to the original", onClick: () => go(`/runs/${run.id}`) },
    });
  };
  const mayEdit = editable(run, schedule) && mayRunSchedule;
  useKeys({
    r: mayRun && final && !offline ? () => void repeat() : undefined,
    c: mayCancel && !final && !offline ? cancel : undefined,
    e: mayEdit ? () => setEditing(true) : undefined,
    k: before ? () => go(`/runs/${before}`) : undefined,
    j: after ? () => go(`/runs/${after}`) : undefined,
  });
  const task = run.action?.task;
  const name = run.schedule_name ?? schedule?.name ?? (typeof task === "string" ? task : undefined);
  const crumbs = [
    { label: "Runs", to: "/runs" },
    ...(run.schedule_id ? [{ label: name ?? shortId(run.schedule_id), to: `/schedules/${run.schedule_id}` }] : []),
  ];
  const job = run.kind === "crawl" || run.kind === "articles";

  return (
    <Page
      title={shortId(run.id)}
      tab={`${name ?? shortId(run.id)} · ${run.state.replace("_", " ")}`}
      state={run.state}
      crumbs={crumbs}
      fill
      aside={!run.schedule_id && name ? <span className="text-muted">{name}</span> : null}
      actions={
        <>
          {before || after ? (
            <span className="flex">
              <Button
                kind="quiet"
                aria-label="Run before (k)"
                title="Run before (k)"
                icon={<ChevronLeft size={16} />}
                disabled={!before}
                onClick={() => before && go(`/runs/${before}`)}
              />
              <Button
                kind="quiet"
                aria-label="Run after (j)"
                title="Run after (j)"
                icon={<ChevronRight size={16} />}
                disabled={!after}
                onClick={() => after && go(`/runs/${after}`)}
              />
            </span>
          ) : null}
          {mayCancel && !final ? (
            <Button
              kind="danger"
              hotkey="c"
              icon={<Ban size={14} aria-hidden />}
              busy={busy}
              disabled={gone}
              onClick={cancel}
            >
              Cancel
            </Button>
          ) : null}
          {mayRun && final ? (
            <Button
              hotkey="r"
              icon={<RotateCcw size={14} aria-hidden />}
              busy={busy}
              disabled={gone}
              title={chain ? "The whole chain, from its first step" : undefined}
              onClick={() => void repeat()}
            >
              {chain ? "Run again" : "Replay"}
            </Button>
          ) : null}
          {mayEdit && final ? (
            <Button acts hotkey="e" disabled={gone} onClick={() => setEditing(true)}>
              Edit & replay
            </Button>
          ) : null}
          <CopyAs call={{ method: "GET", path: `/api/runs/${run.id}`, cli: `run show ${run.id}` }} />
        </>
      }
    >
      {gone ? (
        <p
          role="alert"
          className="rounded-lg border border-attention/50 bg-attention-tint px-3 py-2 text-attention-ink"
        >
          This run was deleted while you looked at it. What you see is the last that was known.
        </p>
      ) : null}
      <Facts run={run} />
      <Failure
        run={run}
        onJump={() => {
          setTab("log");
          setJump((count) => count + 1);
        }}
        onEdit={mayEdit && final ? () => setEditing(true) : undefined}
      />
      <Attempts run={run} />
      <ProgressBand run={run} />
      {job ? (
        <p>
          <Go to={`/crawls/${run.id}`} className="text-accent underline">
            Results of this job
          </Go>
        </p>
      ) : null}
      <Tabs
        fill
        tabs={[
          {
            id: "log",
            label: "Log",
            content: (
              <div className="flex min-h-0 flex-1 flex-col pt-3">
                <LogViewer run={run} jump={jump} />
              </div>
            ),
          },
          {
            id: "attempts",
            label: `Attempts ${run.attempts.length || ""}`,
            content: (
              <Section>
                <AttemptsTab run={run} />
              </Section>
            ),
          },
          {
            id: "result",
            label: "Result",
            content: (
              <Section>
                <Result run={run} />
              </Section>
            ),
          },
          {
            id: "payload",
            label: "Payload",
            content: (
              <Section>
                <Payload run={run} schedule={schedule} />
              </Section>
            ),
          },
          {
            id: "events",
            label: "Events",
            content: (
              <Section>
                <EventsTab run={run} />
              </Section>
            ),
          },
          {
            id: "related",
            label: "Related",
            content: (
              <Section>
                <Related run={run} />
              </Section>
            ),
          },
        ]}
      />
      {mayEdit ? <EditReplay run={run} schedule={schedule} open={editing} onClose={() => setEditing(false)} /> : null}
    </Page>
  );
}

const Section = ({ children }: { children: React.ReactNode }) => <div className="pt-4 pb-6">{children}</div>;

function Payload({ run, schedule }: { run: RunAnswer; schedule?: Schedule }) {
  const other = schedule && run.schedule_version !== null && schedule.version !== run.schedule_version;
  if (run.action) return <Json value={run.action} name={`${run.id}-payload`} />;
  if (!schedule) return <Empty title="The payload is not known any more" />;
  return (
    <div className="flex flex-col gap-2">
      {other ? (
        <p className="text-attention-ink">
          The schedule was changed since: this run used version {run.schedule_version}, shown is version{" "}
          {schedule.version}.
        </p>
      ) : null}
      <Json value={schedule.action} name={`${run.id}-payload`} />
    </div>
  );
}
