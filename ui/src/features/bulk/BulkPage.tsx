import type { BulkAction } from "@/api/schema";
import { Card } from "@/parts/Card";
import { CopyAs } from "@/parts/copy/CopyAs";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useParam } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { number } from "@/time/moment";

import { Controls } from "./Controls";
import { detailsOf } from "./details";
import { ProgressBar } from "./ProgressBar";
import { useBulk } from "./useBulk";

const TITLES: Record<string, string> = {
  cancel: "Cancel runs",
  retry: "Run again",
  replay: "Replay dead letters",
  discard: "Discard dead letters",
  pause: "Pause schedules",
  resume: "Resume schedules",
  run: "Run schedules now",
  tag: "Tag schedules",
  delete: "Delete schedules",
  backfill: "Backfill a schedule",
  reextract: "Read pages again",
};
const WORDS: Record<BulkAction["state"], string> = {
  running: "in progress",
  paused: "paused",
  stopped: "stopped",
  finished: "finished",
};
const LISTS: Record<string, string> = {
  "/schedules": "Schedules",
  "/runs": "Runs",
  "/dead-letters": "Dead letters",
  "/hosts?tab=pages": "Stored pages",
};
const ON_SCHEDULES = new Set(["pause", "resume", "run", "tag", "delete", "backfill"]);

/** One bulk action: its selection, its progress, and the items that were refused. */
export default function BulkPage() {
  const id = useParam("id");
  const { data: bulk, error, refetch } = useBulk(id);
  const zone = useZone();
  if (!bulk) {
    return (
      <Page title="Bulk action" crumbs={[{ label: "Runs", to: "/runs" }]}>
        {error ? (
          <ErrorCard error={error} what="Could not load the bulk action" onRetry={() => void refetch()} />
        ) : (
          <Skeleton className="h-24 w-full" />
        )}
      </Page>
    );
  }
  const schedules = ON_SCHEDULES.has(bulk.action);
  const list = schedules
    ? "/schedules"
    : bulk.action === "reextract"
      ? "/hosts?tab=pages"
      : bulk.action === "replay" || bulk.action === "discard"
        ? "/dead-letters"
        : "/runs";
  return (
    <Page
      title={TITLES[bulk.action] ?? bulk.action}
      tab={`${TITLES[bulk.action] ?? bulk.action} · ${number(bulk.done)} of ${number(bulk.total)}`}
      crumbs={[{ label: LISTS[list] ?? "Runs", to: list }]}
      aside={<span className="text-muted">{WORDS[bulk.state]}</span>}
      actions={
        <>
          <Controls bulk={bulk} />
          <CopyAs
            call={{
              verb: "Show this bulk action",
              method: "GET",
              path: `/api/bulk/${bulk.id}`,
              cli: `bulk show ${bulk.id}`,
            }}
          />
        </>
      }
    >
      <Card>
        <div className="flex flex-col gap-4">
          <ProgressBar bulk={bulk} />
          {bulk.reason ? <p className="text-sm text-attention-ink">{bulk.reason}</p> : null}
          <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1 text-sm">
            <Fact name="What">
              {bulk.action === "backfill" ? (
                <Link to={`/schedules/${String(bulk.details?.schedule_id)}`} className="text-accent hover:underline">
                  {String(bulk.details?.schedule_name)}
                </Link>
              ) : bulk.filter !== null ? (
                <code className="font-mono">{bulk.filter || "everything"}</code>
              ) : (
                `${number(bulk.ids_given)} selected individually`
              )}
            </Fact>
            <Fact name="Rate">{`${number(bulk.rate)} per second${bulk.stop_after ? `, stops after ${number(bulk.stop_after)} failures (counted once per second)` : ""}`}</Fact>
            {detailsOf(bulk.details, zone, Date.now()).map(([name, text]) => (
              <Fact key={name} name={name}>
                {text}
              </Fact>
            ))}
            <Fact name="Requested by">{bulk.user_id}</Fact>
            <Fact name="Started">
              <Instant at={bulk.created_at} as="short" precision="second" />
            </Fact>
            <Fact name="Finished">
              <Instant at={bulk.finished_at} as="short" precision="second" none="not yet" />
            </Fact>
            <Fact name="Id">
              <Id id={bulk.id} />
            </Fact>
          </dl>
        </div>
      </Card>
      <Card
        title="Failures"
        aside={
          bulk.failed > bulk.failures.length ? `the first ${bulk.failures.length} of ${number(bulk.failed)}` : null
        }
        flush
      >
        {bulk.failures.length ? (
          <ul className="divide-y">
            {bulk.failures.map((failure) => (
              <li key={failure.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
                {bulk.action === "backfill" ? (
                  <Instant at={failure.id} as="short" precision="second" />
                ) : bulk.action === "reextract" ? (
                  <Id id={failure.id} />
                ) : (
                  <Id id={failure.id} to={`${schedules ? "/schedules" : "/runs"}/${failure.id}`} />
                )}
                <span className="min-w-0 break-words text-failed-ink">{failure.message}</span>
              </li>
            ))}
          </ul>
        ) : (
          <Empty title="No failures" />
        )}
      </Card>
    </Page>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}
