import {
  type ColumnDef,
  getCoreRowModel,
  getSortedRowModel,
  type SortingState,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { useRowHeight } from "@/prefs";

import { cx } from "../cx";
import { ErrorCard } from "../ErrorCard";
import { SkeletonRows } from "../Skeleton";
import { useKeys } from "../useKeys";
import { useNarrow } from "../useSize";
import { useNavigateTo } from "../useUrl";
import { Checkbox } from "./Checkbox";
import { NewRowsPill } from "./NewRowsPill";
import { directionOf, nextOrder } from "./order";

export interface Column<T> {
  id: string;
  header: ReactNode;
  cell: (row: T) => ReactNode;
  /** A track of the grid: `120px`, `minmax(160px, 2fr)`. */
  width?: string;
  right?: boolean;
  /** On a narrow screen: on the first line, at its end, on the second line, or left out. */
  card?: "lead" | "side" | "meta" | "none";
  /** Makes the column sortable, among the rows that are loaded. */
  sort?: (row: T) => string | number | null;
  /** Makes it sortable by the server, over all rows: the value of `sort` at the first press, "-started_at". */
  order?: string;
}

export interface Selection {
  ids: ReadonlySet<string>;
  set: (ids: Set<string>) => void;
}

export interface DataTableProps<T> {
  /** The accessible name of the table: "Runs". */
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowId: (row: T) => string;
  /** Where a row leads; it opens on click and on Enter. */
  href?: (row: T) => string | null;
  onOpen?: (row: T) => void;
  selection?: Selection;
  loading?: boolean;
  error?: unknown;
  onRetry?: () => void;
  empty?: ReactNode;
  hasMore?: boolean;
  onMore?: () => void;
  /** The number of new rows that are not shown yet; a press on the pill shows them. */
  newRows?: number;
  onShowNew?: () => void;
  /** Further keys that act on the row under the cursor: `{ c: (run) => cancel(run) }`. */
  rowKeys?: Record<string, (row: T) => void>;
  /** The server's order of the rows, "-started_at"; empty for the usual one. */
  order?: string;
  onOrder?: (order: string) => void;
  /** Fills the height and scrolls by itself. Otherwise the table is as high as its rows. */
  fill?: boolean;
  /** Two-line rows need more height. */
  rowHeight?: number;
}

const CARD_HEIGHT = 64;

/** A virtualized table with keyboard navigation, whose rows do not move while it is live. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { label, columns, rows, rowId, selection, loading, error, onRetry, empty, fill = true } = props;
  const narrow = useNarrow();
  const base = useRowHeight();
  const height = narrow ? CARD_HEIGHT : (props.rowHeight ?? base);
  const go = useNavigateTo();
  const [sorting, setSorting] = useState<SortingState>([]);
  const [active, setActive] = useState(-1);
  const anchor = useRef(-1);
  const scroller = useRef<HTMLDivElement>(null);

  const data = useMemo(() => [...rows], [rows]);
  const definitions = useMemo<ColumnDef<T>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: (row) => column.sort?.(row) ?? null,
        enableSorting: Boolean(column.sort),
        sortUndefined: "last",
      })),
    [columns],
  );
  const table = useReactTable({
    data,
    columns: definitions,
    getRowId: (row) => rowId(row),
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const shown = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    getItemKey: (index) => shown[index]?.id ?? index,
    initialRect: fill ? undefined : { width: 1000, height: 1_000_000 },
  });
  useEffect(() => virtual.measure(), [virtual, height]);

  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const { hasMore, onMore } = props;
  useEffect(() => {
    if (fill && hasMore && onMore && last >= shown.length - 20 && shown.length > 0) onMore();
  }, [fill, hasMore, onMore, last, shown.length]);

  const open = (row: T): void => {
    if (props.onOpen) props.onOpen(row);
    else {
      const to = props.href?.(row);
      if (to) go(to);
    }
  };
  const move = (by: number): void => {
    const next = Math.min(Math.max(active + by, 0), shown.length - 1);
    setActive(next);
    if (fill) virtual.scrollToIndex(next);
    else scroller.current?.querySelector(`[data-index="${next}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const toggle = (index: number, range: boolean): void => {
    const row = shown[index];
    if (!selection || !row) return;
    const ids = new Set(selection.ids);
    const on = !ids.has(row.id);
    const [from, to] =
      range && anchor.current >= 0
        ? [Math.min(anchor.current, index), Math.max(anchor.current, index)]
        : [index, index];
    for (const one of shown.slice(from, to + 1)) {
      if (range || on) ids.add(one.id);
      else ids.delete(one.id);
    }
    anchor.current = index;
    selection.set(ids);
  };
  const current = shown[active]?.original;
  const chosen = selection?.ids.size ?? 0;
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    arrowdown: () => move(1),
    arrowup: () => move(-1),
    enter: current ? () => open(current) : undefined,
    x: selection ? () => toggle(active, false) : undefined,
    "shift+x": selection ? () => toggle(active, true) : undefined,
    escape: chosen ? () => selection?.set(new Set()) : active >= 0 ? () => setActive(-1) : undefined,
    ...Object.fromEntries(
      Object.entries(props.rowKeys ?? {}).map(([key, act]) => [key, current ? () => act(current) : undefined]),
    ),
  });

  const template = [selection ? "28px" : "", ...columns.map((column) => column.width ?? "minmax(96px, 1fr)")].join(" ");
  // Below the sum of what the columns need at least, the table scrolls sideways instead of squeezing.
  const least = columns.reduce(
    (sum, column) => sum + 16 + Number.parseInt(/(\d+)px/.exec(column.width ?? "96px")?.[1] ?? "96", 10),
    selection ? 52 : 8,
  );
  const all = shown.length > 0 && shown.every((row) => selection?.ids.has(row.id));

  return (
    <div className={cx("relative flex min-h-0 flex-col rounded-lg border", fill && "flex-1")}>
      {error && shown.length > 0 ? (
        <ErrorCard bar error={error} what="Could not refresh this list; it may be out of date." onRetry={onRetry} />
      ) : null}
      <NewRowsPill count={props.newRows ?? 0} onShow={props.onShowNew} />
      <div
        ref={scroller}
        // Without rows it is not a table: the empty state may have buttons.
        role={shown.length || (loading && !narrow) ? "table" : "group"}
        aria-label={label}
        aria-rowcount={shown.length ? (props.hasMore ? -1 : shown.length) : undefined}
        aria-busy={loading || undefined}
        tabIndex={0}
        className={cx("min-h-0 overflow-auto rounded-lg focus-visible:-outline-offset-2", fill && "flex-1")}
      >
        <div style={{ minWidth: narrow ? undefined : least }}>
          {narrow || (!shown.length && !loading) ? null : (
            <div role="rowgroup" className="sticky top-0 z-10 border-b bg-surface">
              <div
                role="row"
                className="grid items-center gap-x-4 px-3 text-xs text-muted"
                style={{ gridTemplateColumns: template, height: 32 }}
              >
                {selection ? (
                  <div role="columnheader" aria-label="Selection">
                    <Checkbox
                      label="Select all loaded rows"
                      checked={all}
                      partly={chosen > 0}
                      onChange={() => selection.set(all ? new Set() : new Set(shown.map((row) => row.id)))}
                    />
                  </div>
                ) : null}
                {columns.map((column) => {
                  const served = props.onOrder ? column.order : undefined;
                  const sorted = served
                    ? directionOf(served, props.order ?? "")
                    : table.getColumn(column.id)?.getIsSorted();
                  return (
                    <div
                      key={column.id}
                      role="columnheader"
                      aria-sort={sorted ? (sorted === "asc" ? "ascending" : "descending") : undefined}
                      className={cx("truncate font-medium", column.right && "text-right")}
                    >
                      {served || column.sort ? (
                        <button
                          type="button"
                          onClick={
                            served
                              ? () => props.onOrder?.(nextOrder(served, props.order ?? ""))
                              : table.getColumn(column.id)?.getToggleSortingHandler()
                          }
                          className="inline-flex items-center gap-1 hover:text-ink"
                        >
                          {column.header}
                          {sorted === "asc" ? (
                            <ArrowUp size={12} />
                          ) : sorted === "desc" ? (
                            <ArrowDown size={12} />
                          ) : null}
                        </button>
                      ) : (
                        column.header
                      )}
                    </div>
                  );
                })}
              </div>
            </div>
          )}
          {shown.length ? (
            <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
              {items.map((item) => {
                const row = shown[item.index];
                if (!row) return null;
                const press = (event: MouseEvent): void => {
                  if (
                    (event.target as Element).closest(
                      "a, button, input, label, summary, [role=button], [role=menuitem]",
                    )
                  )
                    return;
                  if (window.getSelection()?.toString()) return;
                  setActive(item.index);
                  open(row.original);
                };
                const picked = selection?.ids.has(row.id) ?? false;
                return (
                  <div
                    key={item.key}
                    role="row"
                    aria-rowindex={item.index + 1}
                    data-index={item.index}
                    data-id={row.id}
                    data-active={item.index === active || undefined}
                    onClick={press}
                    className={cx(
                      "absolute inset-x-0 border-b border-line/70",
                      (props.href || props.onOpen) && "cursor-pointer",
                      item.index === active && "shadow-[inset_2px_0_0_var(--accent)]",
                      picked ? "bg-accent-tint" : item.index === active ? "bg-surface" : "hover:bg-surface",
                    )}
                    style={{ transform: `translateY(${item.start}px)`, height: item.size }}
                  >
                    {narrow ? (
                      <CardRow columns={columns} row={row.original}>
                        {selection ? (
                          <Checkbox
                            label={`Select ${row.id}`}
                            checked={picked}
                            onChange={({ shift }) => toggle(item.index, shift)}
                          />
                        ) : null}
                      </CardRow>
                    ) : (
                      <div
                        className="grid h-full items-center gap-x-4 px-3 leading-tight"
                        style={{ gridTemplateColumns: template }}
                      >
                        {selection ? (
                          <div role="cell">
                            <Checkbox
                              label={`Select ${row.id}`}
                              checked={picked}
                              onChange={({ shift }) => toggle(item.index, shift)}
                            />
                          </div>
                        ) : null}
                        {columns.map((column) => (
                          <div
                            key={column.id}
                            role="cell"
                            className={cx("min-w-0 truncate", column.right && "text-right tabular-nums")}
                          >
                            {column.cell(row.original)}
                          </div>
                        ))}
                      </div>
                    )}
                  </div>
                );
              })}
            </div>
          ) : null}
        </div>
        {!shown.length && loading ? <SkeletonRows rows={fill ? 12 : 5} /> : null}
        {!shown.length && !loading && error ? (
          <div className="p-4">
            <ErrorCard error={error} onRetry={onRetry} />
          </div>
        ) : null}
        {!shown.length && !loading && !error ? empty : null}
      </div>
      {!fill && hasMore ? (
        <div className="border-t p-2 text-center">
          <button type="button" onClick={onMore} className="text-accent hover:underline">
            Show more
          </button>
        </div>
      ) : null}
    </div>
  );
}

/** A row as two lines, for narrow screens. */
function CardRow<T>({ columns, row, children }: { columns: Column<T>[]; row: T; children?: ReactNode }) {
  const placed = (place: Column<T>["card"]): Column<T>[] =>
    columns.filter((column) => (column.card ?? "meta") === place);
  return (
    <div role="cell" className="flex h-full items-center gap-3 px-3">
      {children}
      <div className="min-w-0 flex-1">
        <div className="flex items-center gap-2">
          <div className="flex min-w-0 flex-1 items-center gap-2 truncate font-medium">
            {placed("lead").map((column) => (
              <span key={column.id} className="min-w-0 truncate">
                {column.cell(row)}
              </span>
            ))}
          </div>
          {placed("side").map((column) => (
            <span key={column.id} className="shrink-0 text-muted">
              {column.cell(row)}
            </span>
          ))}
        </div>
        <div className="flex gap-3 overflow-hidden text-xs whitespace-nowrap text-muted">
          {placed("meta").map((column) => (
            <span key={column.id} className="min-w-0 truncate">
              {column.cell(row)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}
