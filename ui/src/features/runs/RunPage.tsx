import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, ChevronLeft, ChevronRight, RotateCcw } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import type { Run, Schedule } from "@/api/schema";
import { usePermission } from "@/api/session";
import { DataVerdict } from "@/features/expectations/DataVerdict";
import { useOffline, useTopic } from "@/live/live";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id, shortId } from "@/parts/Id";
import { Json } from "@/parts/Json";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { FINAL } from "@/parts/state/states";
import { Tabs } from "@/parts/Tabs";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { useKeys } from "@/parts/useKeys";
import { useNavigateTo, useParam, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { titleTime } from "@/time/moment";

import { CompareTab } from "./compare/CompareTab";
import { AttemptsTab } from "./detail/AttemptsTab";
import { AttemptTimeline } from "./detail/AttemptTimeline";
import { editable, EditReplay } from "./detail/EditReplay";
import { EventsTab } from "./detail/EventsTab";
import { Failure } from "./detail/Failure";
import { PartialCard } from "./detail/PartialCard";
import { ProgressBar } from "./detail/ProgressBar";
import { RelatedRuns } from "./detail/RelatedRuns";
import { isOpenDeadLetter, repeat, settingsNote } from "./detail/repeat";
import { Result } from "./detail/Result";
import { RunFacts } from "./detail/RunFacts";
import { useNeighbours } from "./detail/useNeighbours";
import { LogViewer } from "./log/LogViewer";

export default function RunPage() {
  const id = useParam("id");
  // A new key per run: no state of the previous one is kept.
  return <RunLoader key={id} id={id} />;
}

function RunLoader({ id }: { id: string }) {
  const queries = useQueryClient();
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    queryKey: queryKeys.run(id),
    queryFn: ({ signal }) => ask("/api/runs/{run_id}", { params: { run_id: id }, signal }),
    // An ended run sends no more messages; that it was deleted shows when it is requested again.
    refetchInterval: 10_000,
    refetchOnWindowFocus: "always",
  });
  const [gone, setGone] = useState(false);
  useTopic(`run:${id}`, (message) => {
    if (message.type === "gone") setGone(true);
    else if (message.data && typeof message.data === "object" && "state" in message.data)
      queries.setQueryData(queryKeys.run(id), message.data);
  });
  if (run) return <RunDetail run={run} gone={gone || (error instanceof ProblemError && error.status === 404)} />;
  const missing = error instanceof ProblemError && error.status === 404;
  return (
    <Page title={shortId(id)} crumbs={[{ label: "Runs", to: "/runs" }]}>
      {missing ? (
        <Empty
          title={`No run ${id}`}
          actions={
            <Link to="/runs" className="text-accent underline">
              All runs
            </Link>
          }
        >
          It may have been removed by retention, or belong to another tenant.
        </Empty>
      ) : error ? (
        <ErrorCard error={error} what="Could not load the run" onRetry={() => void refetch()} />
      ) : (
        <div className="flex flex-col gap-4" role="status" aria-label="Loading">
          <Skeleton className="h-5 w-2/3" />
          <Skeleton className="h-96 w-full" />
        </div>
      )}
    </Page>
  );
}

function RunDetail({ run, gone }: { run: Run; gone: boolean }) {
  const go = useNavigateTo();
  const [act, busy] = useCommand();
  const [, setTab] = useUrl("tab", "log");
  const [jump, setJump] = useState(0);
  const [edit, setEdit] = useUrl("edit");
  const editing = edit === "1";
  const setEditing = (open: boolean): void => setEdit(open ? "1" : "");
  const mayRun = usePermission(isOpenDeadLetter(run) ? "run:dead_letter" : "run:run");
  const mayRunSchedule = usePermission("run:schedule");
  const mayCancel = usePermission("write:run");
  const offline = useOffline();
  const zone = useZone();
  const final = FINAL.has(run.state);
  const chain = run.kind === "pipeline";
  const { before, after } = useNeighbours(run);
  const schedule = useQuery({
    queryKey: queryKeys.schedule(run.schedule_id ?? ""),
    queryFn: ({ signal }) =>
      ask("/api/schedules/{schedule_id}", { params: { schedule_id: run.schedule_id ?? "" }, signal }),
    enabled: run.schedule_id !== null,
  }).data;

  const cancel = (): void =>
    void act(
      "POST",
      "/api/runs/{run_id}/cancel",
      { params: { run_id: run.id } },
      run.state === "running" ? "Cancelling" : "Cancelled",
    );
  const replay = async (): Promise<void> => {
    const made = await repeat(act, run);
    if (!made) return;
    // Only from the page it was asked on: in five seconds a person may have gone elsewhere.
    if (window.location.pathname === `/runs/${run.id}`) go(`/runs/${made.id}`);
    toast.success(`${chain ? "Started again" : "Replayed"} as ${shortId(made.id)}${settingsNote(run, made)}`, {
      action: { label: "View original", onClick: () => go(`/runs/${run.id}`) },
    });
  };
  const replaySoon = (): void => undoable(`replay ${run.id}`, chain ? "Runs again" : "Replays", replay);
  const cancelSoon = (): void => undoable(`cancel ${run.id}`, "Cancels", cancel);
  const mayEdit = editable(run, schedule) && mayRunSchedule;
  useKeys({
    r: mayRun && final && !offline ? replaySoon : undefined,
    c: mayCancel && !final && !offline ? cancelSoon : undefined,
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
  const at = titleTime(run.scheduled_for ?? run.created_at, zone, Date.now());

  return (
    <Page
      title={run.schedule_id ? at : `${name ?? "Run"}, ${at}`}
      tab={`${name ?? "Run"}, ${at} · ${run.state.replace("_", " ")}`}
      state={run.state}
      crumbs={crumbs}
      fill
      aside={
        <span className="text-muted">
          <Id id={run.id} shown />
        </span>
      }
      actions={
        <>
          {before || after ? (
            <span className="flex">
              <Button
                kind="quiet"
                aria-label="Previous run (k)"
                title="Previous run (k)"
                icon={<ChevronLeft size={16} />}
                disabled={!before}
                onClick={() => before && go(`/runs/${before}`)}
              />
              <Button
                kind="quiet"
                aria-label="Next run (j)"
                title="Next run (j)"
                icon={<ChevronRight size={16} />}
                disabled={!after}
                onClick={() => after && go(`/runs/${after}`)}
              />
            </span>
          ) : null}
          {!final ? (
            <Button
              kind="danger"
              hotkey="c"
              icon={<Ban size={14} aria-hidden />}
              busy={busy}
              disabled={gone}
              needs="write:run"
              onClick={cancelSoon}
            >
              Cancel
            </Button>
          ) : null}
          {final ? (
            <Button
              hotkey="r"
              icon={<RotateCcw size={14} aria-hidden />}
              busy={busy}
              disabled={gone}
              title={chain ? "Runs all steps from the start" : undefined}
              needs={isOpenDeadLetter(run) ? "run:dead_letter" : "run:run"}
              onClick={replaySoon}
            >
              {chain ? "Run again" : "Replay"}
            </Button>
          ) : null}
          {mayEdit && final ? (
            <Button acts hotkey="e" disabled={gone} onClick={() => setEditing(true)}>
              Edit & replay
            </Button>
          ) : null}
          <CopyAs
            call={{ verb: "Show this run", method: "GET", path: `/api/runs/${run.id}`, cli: `run show ${run.id}` }}
          />
        </>
      }
    >
      {gone ? (
        <p
          role="alert"
          className="rounded-lg border border-attention/50 bg-attention-tint px-3 py-2 text-attention-ink"
        >
          This run has been deleted. You are seeing its last known state.
        </p>
      ) : null}
      <RunFacts run={run} />
      <Failure
        run={run}
        onJump={() => {
          setTab("log");
          setJump((count) => count + 1);
        }}
        onEdit={mayEdit && final ? () => setEditing(true) : undefined}
      />
      <DataVerdict run={run} />
      <AttemptTimeline run={run} />
      <ProgressBar run={run} />
      <PartialCard run={run} />
      {job && run.state !== "partial" ? (
        <p>
          <Link to={`/crawls/${run.id}`} className="text-accent underline">
            View results
          </Link>
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
            id: "compare",
            label: "Compare",
            content: (
              <Section>
                <CompareTab run={run} />
              </Section>
            ),
          },
          {
            id: "related",
            label: "Related",
            content: (
              <Section>
                <RelatedRuns run={run} />
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

function Payload({ run, schedule }: { run: Run; schedule?: Schedule }) {
  const other = schedule && run.schedule_version !== null && schedule.version !== run.schedule_version;
  if (run.action) return <Json value={run.action} name={`${run.id}-payload`} />;
  if (!schedule) return <Empty title="The payload is no longer available" />;
  return (
    <div className="flex flex-col gap-2">
      {other ? (
        <p className="text-attention-ink">
          The schedule has changed since: this run used version {run.schedule_version}; shown here is version{" "}
          {schedule.version}.
        </p>
      ) : null}
      <Json value={schedule.action} name={`${run.id}-payload`} />
    </div>
  );
}
