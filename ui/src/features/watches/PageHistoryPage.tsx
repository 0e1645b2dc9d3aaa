import { useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { PageVersionDetail, WatchDetail, WatchedPageDetail } from "@/api/schema";
import { Card } from "@/parts/Card";
import { cx } from "@/parts/cx";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Page } from "@/parts/Page";
import { Segments } from "@/parts/Segments";
import { SkeletonRows } from "@/parts/Skeleton";
import { useParam, useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { PageStateBadge } from "./PageStateBadge";
import { PlotCard } from "./PlotCard";
import { problemText, shortUrl, shownValue } from "./values";
import { VersionDiff } from "./VersionDiff";

/** A watched page over time: its versions, and what differs between two of them. */
export default function PageHistoryPage() {
  const [id, pageId] = [useParam("id"), useParam("page")];
  const params = { watch_id: id, page_id: pageId };
  const watch = useQuery({
    queryKey: queryKeys.watch(id),
    queryFn: ({ signal }) => ask("/api/watches/{watch_id}", { params: { watch_id: id }, signal }),
  });
  const page = useQuery({
    queryKey: queryKeys.watchedPage(pageId),
    queryFn: ({ signal }) => ask("/api/watches/{watch_id}/pages/{page_id}", { params, signal }),
    refetchInterval: 10_000,
  });
  const versions = useQuery({
    queryKey: queryKeys.pageVersions(pageId),
    queryFn: ({ signal }) =>
      ask("/api/watches/{watch_id}/pages/{page_id}/versions", { params, query: { limit: 200 }, signal }),
    refetchInterval: 10_000,
  });
  const crumbs = [
    { label: "Watches", to: "/watches" },
    { label: watch.data?.name ?? "Watch", to: `/watches/${id}` },
  ];
  const error = watch.error ?? page.error ?? versions.error;
  if (error)
    return (
      <Page title="Page" crumbs={crumbs}>
        <ErrorCard error={error} what="Could not load the page" onRetry={() => void page.refetch()} />
      </Page>
    );
  if (!watch.data || !page.data || !versions.data)
    return (
      <Page title="Page" crumbs={crumbs}>
        <SkeletonRows rows={4} />
      </Page>
    );
  return (
    <Page
      title={shortUrl(page.data.url)}
      crumbs={crumbs}
      aside={<PageStateBadge state={page.data.state} unvisited={page.data.last_visit_at === null} />}
    >
      <Facts page={page.data} />
      <PlotCard watch={watch.data} page={pageId} />
      <History watch={watch.data} page={page.data} versions={versions.data.items} />
    </Page>
  );
}

function Facts({ page }: { page: WatchedPageDetail }) {
  return (
    <Card>
      <p className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
        <a
          href={page.url}
          target="_blank"
          rel="noreferrer noopener"
          className="inline-flex items-center gap-1 break-all text-accent hover:underline"
        >
          {page.url} <ExternalLink size={13} aria-hidden />
        </a>
        <span>
          {number(page.visits)} visits, {number(page.changes)} found a change
        </span>
        <span className="text-muted">{page.why_then}</span>
      </p>
      {page.problem ? <p className="mt-2 text-sm text-failed-ink">{problemText(page.problem)}</p> : null}
    </Card>
  );
}

const LOOKS = [
  ["inline", "Inline"],
  ["side", "Side by side"],
] as const;

function History({
  watch,
  page,
  versions,
}: {
  watch: WatchDetail;
  page: WatchedPageDetail;
  versions: PageVersionDetail[];
}) {
  const [to, setTo] = useUrl("to");
  const [from, setFrom] = useUrl("from");
  const [look, setLook] = useUrl("diff", "inline");
  const at = Math.max(
    versions.findIndex((version) => version.id === to),
    0,
  );
  const after = versions[at];
  const before = versions.find((version) => version.id === from && version.id !== after?.id) ?? versions[at + 1];
  if (!after) return <Card title="Versions">No version is kept yet.</Card>;
  return (
    <div className="grid gap-4 lg:grid-cols-[260px_1fr]">
      <Card title={`Versions (${number(versions.length)})`} flush>
        <ul className="max-h-[70vh] divide-y overflow-y-auto text-sm">
          {versions.map((version) => (
            <li key={version.id} className="flex items-center gap-2 px-2 py-1">
              <button
                type="button"
                aria-current={version.id === after.id || undefined}
                onClick={() => setTo(version.id)}
                className={cx(
                  "min-w-0 flex-1 rounded px-2 py-1 text-left hover:bg-surface",
                  version.id === after.id && "bg-accent-tint font-medium",
                )}
              >
                <Instant at={version.at} />
                <span className="block truncate text-xs font-normal text-muted">
                  {Object.values(version.fields).map(shownValue).join(", ")}
                </span>
              </button>
              <input
                type="radio"
                name="from"
                aria-label={`Compare with the version of ${version.at}`}
                title="Compare with this version"
                checked={version.id === before?.id}
                disabled={version.id === after.id}
                onChange={() => setFrom(version.id)}
              />
            </li>
          ))}
        </ul>
      </Card>
      <Card
        title={before ? "What changed" : "The only version"}
        aside={<Segments label="Differences" value={look as "inline" | "side"} choices={LOOKS} onChange={setLook} />}
      >
        <VersionDiff watch={watch.id} page={page.id} before={before ?? after} after={after} side={look === "side"} />
      </Card>
    </div>
  );
}
