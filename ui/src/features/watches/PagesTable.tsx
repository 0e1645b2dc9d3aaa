import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { PageState, WatchDetail, WatchedPageDetail } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Segments } from "@/parts/Segments";
import { type Column, DataTable } from "@/parts/table/DataTable";
import { useUrl } from "@/parts/useUrl";

import { PageStateBadge } from "./PageStateBadge";
import { problemText, shortNames, shownValue } from "./values";

const rowId = (row: WatchedPageDetail): string => row.id;
const STATES = ["", "new", "same", "changed", "removed", "error", "blocked"] as const;

/** The pages of a watch: their values, and when each is visited next and why. */
export function PagesTable({ watch }: { watch: WatchDetail }) {
  const [state, setState] = useUrl("state");
  const list = useInfiniteQuery({
    queryKey: queryKeys.watchedPages(watch.id, state),
    queryFn: ({ pageParam, signal }) =>
      ask("/api/watches/{watch_id}/pages", {
        params: { watch_id: watch.id },
        query: { state: (state || undefined) as PageState | undefined, limit: 100, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    refetchInterval: 15_000,
  });
  const rows = useMemo(() => list.data?.pages.flatMap((part) => part.items) ?? [], [list.data]);
  const named = useMemo(() => shortNames(rows.map((page) => page.url)), [rows]);
  const columns = useMemo<Column<WatchedPageDetail>[]>(
    () => [
      {
        id: "url",
        header: "Page",
        width: "minmax(200px, 2fr)",
        card: "lead",
        cell: (page) => (
          <Link to={`/watches/${watch.id}/pages/${page.id}`} className="truncate hover:underline" title={page.url}>
            {named(page.url)}
          </Link>
        ),
      },
      {
        id: "state",
        header: "State",
        width: "110px",
        card: "side",
        cell: (page) => <PageStateBadge state={page.state} unvisited={page.last_visit_at === null} />,
      },
      {
        id: "values",
        header: "Values",
        width: "minmax(160px, 2fr)",
        card: "none",
        cell: (page) =>
          page.problem ? (
            <span className="truncate text-failed-ink">{problemText(page.problem)}</span>
          ) : (
            <span className="truncate">
              {Object.entries(page.fields)
                .map(([name, value]) => `${name} ${shownValue(value)}`)
                .join(", ")}
            </span>
          ),
      },
      {
        id: "change",
        header: "Last change",
        width: "120px",
        card: "none",
        cell: (page) => <Instant at={page.last_change_at} none="none yet" />,
      },
      {
        id: "why",
        header: "Next visit, and why",
        width: "minmax(200px, 2fr)",
        card: "meta",
        cell: (page) => (
          <span title={page.why_then} className="truncate text-muted">
            {page.why_then}
          </span>
        ),
      },
    ],
    [watch.id, named],
  );
  return (
    <div className="flex flex-col gap-3">
      <div className="flex overflow-x-auto">
        <Segments
          label="State"
          value={state as (typeof STATES)[number]}
          choices={STATES.map((one) => [one, one || "all"] as const)}
          onChange={setState}
        />
      </div>
      <DataTable
        label="Pages"
        columns={columns}
        rows={rows}
        rowId={rowId}
        href={(page) => `/watches/${watch.id}/pages/${page.id}`}
        loading={list.isPending}
        error={list.error}
        onRetry={() => void list.refetch()}
        hasMore={list.hasNextPage}
        onMore={() => void list.fetchNextPage()}
        fill={false}
        empty={<Empty title={state ? `No pages in the state “${state}”` : "No pages yet"} />}
      />
    </div>
  );
}
