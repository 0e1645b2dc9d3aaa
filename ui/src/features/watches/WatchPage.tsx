import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { WatchDetail } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { CopyButton } from "@/parts/copy/CopyButton";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { Tabs } from "@/parts/Tabs";
import { undoable } from "@/parts/undoable";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo, useParam } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { ChangeTable } from "./ChangesTab";
import { PagesTable } from "./PagesTable";
import { PlotCard } from "./PlotCard";
import { problemText } from "./values";

const CRUMBS = [{ label: "Watches", to: "/watches" }];

/** One watch: its state, its numbers over time, its pages and what changed. */
export default function WatchPage() {
  const id = useParam("id");
  const watch = useQuery({
    queryKey: queryKeys.watch(id),
    queryFn: ({ signal }) => ask("/api/watches/{watch_id}", { params: { watch_id: id }, signal }),
    refetchInterval: 5000,
  });
  if (!watch.data)
    return (
      <Page title="Watch" crumbs={CRUMBS}>
        {watch.error ? (
          <ErrorCard error={watch.error} what="Could not load the watch" onRetry={() => void watch.refetch()} />
        ) : (
          <SkeletonRows rows={4} />
        )}
      </Page>
    );
  const paused = watch.data.status === "paused";
  return (
    <Page
      title={watch.data.name}
      crumbs={CRUMBS}
      aside={paused ? <span className="text-sm text-muted">paused</span> : null}
      actions={
        <>
          <Actions watch={watch.data} />
          <CopyAs
            call={{ verb: "Show this watch", method: "GET", path: `/api/watches/${id}`, cli: `watches show ${id}` }}
          />
        </>
      }
    >
      {watch.data.problem ? (
        <p role="alert" className="rounded-lg border border-failed/40 bg-failed-tint p-3 text-sm text-failed-ink">
          Could not list its pages: {problemText(watch.data.problem)}
        </p>
      ) : null}
      <Facts watch={watch.data} />
      <PlotCard watch={watch.data} />
      <Tabs
        tabs={[
          { id: "pages", label: `Pages (${number(watch.data.pages)})`, content: <PagesTable watch={watch.data} /> },
          {
            id: "changes",
            label: `Changes (${number(watch.data.changes)})`,
            content: <ChangeTable q={`watch:${watch.data.id}`} />,
          },
        ]}
      />
    </Page>
  );
}

function Actions({ watch }: { watch: WatchDetail }) {
  const go = useNavigateTo();
  const [act, busy] = useCommand();
  const [deleting, setDeleting] = useState(false);
  const params = { watch_id: watch.id };
  return (
    <>
      <Button
        needs="run:watch"
        busy={busy}
        onClick={() =>
          undoable(`visit ${watch.id}`, `${watch.name} is visited`, () =>
            act("POST", "/api/watches/{watch_id}/visit", { params }, "Visiting its pages"),
          )
        }
      >
        Visit now
      </Button>
      {watch.status === "paused" ? (
        <Button
          needs="write:watch"
          busy={busy}
          onClick={() => void act("POST", "/api/watches/{watch_id}/resume", { params }, "Resumed")}
        >
          Resume
        </Button>
      ) : (
        <Button
          needs="write:watch"
          busy={busy}
          onClick={() => void act("POST", "/api/watches/{watch_id}/pause", { params }, "Paused")}
        >
          Pause
        </Button>
      )}
      <Button
        needs="write:watch"
        disabled={watch.fed_by !== null}
        title={watch.fed_by === null ? undefined : `Its pages come from the runs of ${watch.fed_by}`}
        onClick={() => go(`/watches/${watch.id}/edit`)}
      >
        Edit
      </Button>
      <Button needs="write:watch" kind="danger" acts onClick={() => setDeleting(true)}>
        Delete…
      </Button>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        danger
        title={`Delete ${watch.name}?`}
        action="Delete"
        onConfirm={async () => {
          const gone = await act("DELETE", "/api/watches/{watch_id}", { params }, "Deleted");
          if (gone) go("/watches");
          return gone;
        }}
      >
        {watch.fed_by === null
          ? "Its pages, their versions and changes, and its schedule are deleted too."
          : "Its pages, their versions and changes are deleted too. The next run of its schedule starts a new one."}
      </Confirm>
    </>
  );
}

function Facts({ watch }: { watch: WatchDetail }) {
  const states = Object.entries(watch.states)
    .map(([state, count]) => `${number(count)} ${state}`)
    .join(", ");
  const source = watch.sitemap ?? watch.feed ?? watch.links?.from;
  return (
    <Card>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2 text-sm lg:grid-cols-[max-content_1fr_max-content_1fr]">
        <dt className="text-muted">Visits</dt>
        <dd>
          {watch.summary} ·{" "}
          <Link to={`/schedules/${watch.schedule_id}`} className="text-accent hover:underline">
            View schedule
          </Link>
          {watch.fed_by === null ? (
            <>
              {" · "}
              <Link to={`/schedules/${watch.schedule_id}?tab=quality`} className="text-accent hover:underline">
                data quality
              </Link>
            </>
          ) : null}
        </dd>
        <dt className="text-muted">Pages</dt>
        <dd>
          {states || "none yet"}
          {source ? <span className="text-muted"> from {source}</span> : null}
        </dd>
        <dt className="text-muted">Next visit</dt>
        <dd>{watch.status === "active" ? <Instant at={watch.next_visit_at} /> : watch.status}</dd>
        <dt className="text-muted">Counts</dt>
        <dd>
          {watch.when ? <code className="font-mono text-xs break-words">{watch.when}</code> : "every change"}
          {watch.when ? (
            <span className="text-muted">{watch.at === "crossing" ? " when it becomes true" : " at every visit"}</span>
          ) : null}
        </dd>
        <dt className="text-muted">Last visit</dt>
        <dd>
          <Instant at={watch.last_visit_at} none="none yet" />
        </dd>
        <dt className="text-muted">Last change</dt>
        <dd>
          <Instant at={watch.last_change_at} none="none yet" />
        </dd>
        {watch.feed_url ? (
          <>
            <dt className="text-muted">Atom feed</dt>
            <dd className="flex min-w-0 items-center gap-2">
              <span
                title="Anyone who has this address can read the feed"
                className="min-w-0 truncate font-mono text-xs"
              >
                {watch.feed_url}
              </span>
              <CopyButton text={watch.feed_url} size="small" />
            </dd>
          </>
        ) : null}
        <dt className="text-muted">Id</dt>
        <dd>
          <Id id={watch.id} />
        </dd>
      </dl>
    </Card>
  );
}
