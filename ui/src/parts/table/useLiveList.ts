import { type InfiniteData, infiniteQueryOptions, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { type CursorPage, type ListPath, type Query, type QueryOf, request, type Row } from "@/api/client";
import { FIRST_ROWS } from "@/api/firstRows";
import { useLiveState, useTopic } from "@/live/live";

import { mergeRows } from "./mergeRows";

type ListQuery<P extends ListPath> = Omit<QueryOf<P>, "limit" | "cursor">;

export interface LiveListOptions<P extends ListPath> {
  path: P;
  query: ListQuery<P>;
  /** The topic whose changes make the head of the list be read again. */
  topic: string | null;
  rowId: (row: Row<P>) => string;
  limit?: number;
  enabled?: boolean;
}

export interface LiveList<T> {
  rows: T[];
  loading: boolean;
  error: unknown;
  hasMore: boolean;
  more: () => void;
  /** The number of rows that were added since; `showNew` inserts them. */
  newRows: number;
  showNew: () => void;
  refetch: () => void;
}

const SHOWN_PACE = 1000;
const HIDDEN_PACE = 10_000;
const POLL = 10_000;

const askPage = <P extends ListPath>(path: P, query: Query, signal?: AbortSignal) =>
  request("GET", path, { query, signal }) as Promise<CursorPage<Row<P>>>;

/** The query of a list; also used to prefetch it before the page is loaded. */
export const listQuery = <P extends ListPath>(path: P, query: ListQuery<P>, limit = FIRST_ROWS) =>
  infiniteQueryOptions({
    queryKey: ["list", path, query, limit],
    queryFn: ({ pageParam, signal }) => askPage(path, { ...query, limit, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page: CursorPage<Row<P>>) => page.next_cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/**
 * A live list whose rows do not move: shown rows are updated in place, new ones are counted. `path` must answer a page
 * (`items`, `next_cursor`), newest first.
 */
export function useLiveList<P extends ListPath>({
  path,
  query,
  topic,
  rowId,
  limit = FIRST_ROWS,
  enabled = true,
}: LiveListOptions<P>): LiveList<Row<P>> {
  const queries = useQueryClient();
  const key = useMemo(() => listQuery(path, query, limit).queryKey, [path, query, limit]);
  const [head, setHead] = useState<Row<P>[]>([]);
  const list = useInfiniteQuery({
    ...listQuery(path, query, limit),
    enabled,
    refetchOnWindowFocus: false,
    refetchOnMount: "always",
  });
  const hash = JSON.stringify(key);
  useEffect(() => setHead([]), [hash]);

  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const empty = rows.length === 0;
  const { refetch } = list;

  const look = useCallback(async () => {
    if (!enabled) return;
    if (empty) {
      await refetch();
      return;
    }
    const page = await askPage(path, { ...query, limit }).catch(() => null);
    if (!page) return;
    queries.setQueryData<InfiniteData<CursorPage<Row<P>>>>(
      key,
      (before) => before && { ...before, pages: mergeRows(before.pages, page.items, rowId).pages },
    );
    setHead(page.items);
  }, [enabled, empty, refetch, path, query, limit, queries, key, rowId]);

  const timer = useRef<number | undefined>(undefined);
  const latest = useRef(look);
  latest.current = look;
  const soon = useCallback(() => {
    if (timer.current !== undefined) return;
    timer.current = window.setTimeout(
      () => {
        timer.current = undefined;
        void latest.current();
      },
      document.hidden ? HIDDEN_PACE : SHOWN_PACE,
    );
  }, []);
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  useTopic(enabled ? topic : null, soon);

  const { kind } = useLiveState();
  useEffect(() => {
    if (kind === "live" || !topic) return undefined;
    // Without a live connection the list is polled.
    const poll = window.setInterval(() => void latest.current(), POLL);
    return () => window.clearInterval(poll);
  }, [kind, topic]);

  const known = useMemo(() => new Set(rows.map(rowId)), [rows, rowId]);
  const waiting = useMemo(
    () => (empty ? [] : head.filter((row) => !known.has(rowId(row)))),
    [head, known, rowId, empty],
  );

  return {
    rows,
    loading: list.isPending && enabled,
    error: list.error,
    hasMore: list.hasNextPage,
    more: () => {
      if (!list.isFetchingNextPage) void list.fetchNextPage();
    },
    newRows: waiting.length,
    showNew: () => {
      if (waiting.length < head.length) {
        queries.setQueryData<InfiniteData<CursorPage<Row<P>>>>(key, (before) => {
          const [first, ...rest] = before?.pages ?? [];
          if (!before || !first) return before;
          // The head in the server's order: a late row may belong between existing ones.
          const there = new Set(head.map(rowId));
          const items = [...head, ...first.items.filter((row) => !there.has(rowId(row)))];
          return { ...before, pages: [{ ...first, items }, ...rest] };
        });
      } else void queries.resetQueries({ queryKey: key, exact: true });
      setHead([]);
    },
    refetch: () => void refetch(),
  };
}
