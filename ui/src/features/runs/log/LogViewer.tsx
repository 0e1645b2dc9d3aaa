import { useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download, WrapText } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { toast } from "sonner";

import { ask, pathOf, type QueryOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { RunLog, Run } from "@/api/schema";
import { Button } from "@/parts/Button";
import { cx } from "@/parts/cx";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { FINAL } from "@/parts/state/states";
import { useKeys } from "@/parts/useKeys";
import { useUrl } from "@/parts/useUrl";
import { setPrefs, usePrefs, useZone } from "@/prefs";
import { mark, number } from "@/time/moment";

import { LineInspector } from "./LineInspector";
import { LogEmpty } from "./LogEmpty";
import { LogFacets } from "./LogFacets";
import { isNarrowed, logFilterOf } from "./logFilter";
import { LogRow } from "./LogRow";
import { LogToolbar } from "./LogToolbar";
import { rowsOf } from "./rows";
import { useLineCounts } from "./useLineCounts";
import { useLog } from "./useLog";
import { useMatches } from "./useMatches";

const LINE = 20;
const NEAR = 240;

/** The log of a run: opens at its end, follows it live, searches on the server; every line has a link. */
export function LogViewer({ run, jump }: { run: Run; jump: number }) {
  const zone = useZone();
  const { wrap } = usePrefs();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { hash } = useLocation();
  const linked = /^L(\d+)$/.exec(hash)?.[1];
  const target = linked ? Number(linked) : null;

  const [find, setFind] = useUrl("find");
  const [text, setText] = useState(find);
  const [level, setLevel] = useUrl("level", "debug");
  const [only, setOnly] = useUrl("only");
  const [attempt, setAttempt] = useUrl("attempt");
  const [category, setCategory] = useUrl("category");
  // What is shown, and what is searched for in it.
  const view = useMemo(
    () => logFilterOf(level, only ? find : "", attempt, category),
    [level, only, find, attempt, category],
  );
  const search = useMemo(() => ({ ...view, grep: find }), [view, find]);
  const log = useLog(run.id, view);
  const { held, openTail, openAround, loadOlder, loadNewer } = log;
  const matches = useMatches(run.id, search, held.total);
  const counts = useLineCounts(run.id, view, held.total);

  const [follow, setFollow] = useState(target === null);
  const [left, setLeft] = useState(0);
  const [chosen, setChosen] = useState<number | null>(target);
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(new Map());
  const jumpTo = useRef<number | null>(target);
  const anchor = useRef<{ key: string; by: number } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const rows = useMemo(() => rowsOf(held.lines, folds, log.gaps), [held.lines, folds, log.gaps]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE,
    overscan: 30,
    getItemKey: (index) => rows[index]?.key ?? index,
  });

  // A changed filter opens the log again; a link to a line takes precedence over the end.
  useEffect(() => {
    if (jumpTo.current !== null) void openAround(jumpTo.current);
    else void openTail();
  }, [openTail, openAround]);
  useEffect(() => {
    const timer = window.setTimeout(() => setFind(text), 250);
    return () => window.clearTimeout(timer);
  }, [text, setFind]);

  const size = virtual.getTotalSize();
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || !rows.length) return;
    if (jumpTo.current !== null) {
      const index = rows.findIndex((row) => row.kind === "line" && row.line.seq >= (jumpTo.current as number));
      if (index >= 0) virtual.scrollToIndex(index, { align: "center" });
      if (!log.loading) jumpTo.current = null;
      return;
    }
    if (anchor.current) {
      const index = rows.findIndex((row) => row.key === anchor.current?.key);
      const place = index >= 0 ? virtual.getOffsetForIndex(index, "start") : undefined;
      if (place) box.scrollTop = place[0] + anchor.current.by;
      anchor.current = null;
      return;
    }
    if (follow) box.scrollTop = box.scrollHeight;
  }, [rows, size, follow, virtual, log.loading]);

  // The panel is resized when something above it appears; a followed log stays at its end.
  const sticky = useRef(follow);
  sticky.current = follow;
  useEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const watcher = new ResizeObserver(() => {
      if (sticky.current) box.scrollTop = box.scrollHeight;
    });
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);

  const latest = useRef(held);
  latest.current = held;
  // A stable function, so that unchanged rows are not rendered again.
  const goTo = useCallback(
    (seq: number) => {
      const { lines, total } = latest.current;
      setFollow(false);
      setLeft(total);
      setChosen(seq);
      setFolds((before) => new Map(before).set(seq, true));
      jumpTo.current = seq;
      const inside = lines.length && seq >= (lines[0]?.seq ?? 0) && seq <= (lines.at(-1)?.seq ?? -1);
      if (!inside) void openAround(seq);
      void navigate({ to: ".", search: true, hash: `L${seq}`, replace: true } as never);
    },
    [openAround, navigate],
  );
  // A link to a line of this page, followed or typed while it is open.
  const current = useRef(chosen);
  current.current = chosen;
  useEffect(() => {
    if (linked && Number(linked) !== current.current) goTo(Number(linked));
  }, [linked, goTo]);
  const fold = useCallback((seq: number, open: boolean) => {
    setFollow(false);
    setFolds((before) => new Map(before).set(seq, open));
  }, []);
  const toEnd = (): void => {
    setFollow(true);
    setChosen(null);
    jumpTo.current = null;
    if (linked) void navigate({ to: ".", search: true, hash: "", replace: true } as never);
    if (held.detached) void openTail();
  };
  const step = async (by: 1 | -1): Promise<void> => {
    if (!find) return;
    const from = chosen ?? (by > 0 ? 0 : Number.MAX_SAFE_INTEGER);
    const found = await matches.step(by, Math.min(from, 2 ** 53));
    if (found !== null) goTo(found);
  };
  const nextError = useCallback(
    async (from: number) => {
      const page = await ask("/api/runs/{run_id}/logs", {
        params: { run_id: run.id },
        query: { level: "error", after: from, limit: 1 },
      }).catch(() => null);
      const found = page?.items[0]?.seq;
      if (found !== undefined) goTo(found);
      else toast(from ? "No errors after this line" : "No errors in this log");
    },
    [run.id, goTo],
  );
  // Not every failure writes an error: then the last warning is the nearest to it, and otherwise the end.
  const firstTrouble = useCallback(async () => {
    const read = (query: QueryOf<"/api/runs/{run_id}/logs">): Promise<RunLog | null> =>
      ask("/api/runs/{run_id}/logs", { params: { run_id: run.id }, query: { ...query, limit: 1 } }).catch(() => null);
    const page = await read({ level: "error", after: 0 });
    const found = page?.items[0] ?? (await read({ level: "warning" }))?.items.at(-1) ?? (await read({}))?.items.at(-1);
    if (found) goTo(found.seq);
  }, [run.id, goTo]);
  // The error card above jumps to the first error.
  const asked = useRef(jump);
  useEffect(() => {
    if (jump === asked.current) return;
    asked.current = jump;
    void firstTrouble();
  }, [jump, firstTrouble]);

  const toggleFollow = (): void => {
    if (follow) {
      setFollow(false);
      setLeft(held.total);
    } else toEnd();
  };
  useKeys({
    "/": () => input.current?.focus(),
    "mod+f": () => input.current?.select(),
    ".": () => void nextError(chosen ?? 0),
    f: toggleFollow,
    w: () => setPrefs({ wrap: !wrap }),
    escape: chosen === null ? undefined : () => setChosen(null),
  });

  const scrolled = (): void => {
    const box = scroller.current;
    if (!box || jumpTo.current !== null || !rows.length) return;
    const bottom = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (follow && bottom > LINE * 2) {
      setFollow(false);
      setLeft(held.total);
    } else if (!follow && bottom < 4 && !held.detached && chosen === null) setFollow(true);
    if (box.scrollTop < NEAR && held.before !== null && !follow) {
      const top = virtual.getVirtualItemForOffset(box.scrollTop);
      const key = top && rows[top.index]?.key;
      void loadOlder().then(() => {
        if (key && top) anchor.current = { key, by: (scroller.current?.scrollTop ?? 0) - top.start };
      });
    }
    if (bottom < NEAR && held.detached) void loadNewer();
  };

  const live = !FINAL.has(run.state);
  // The log's end and the run's come by different ways: the header follows at once, so that both end together.
  useEffect(() => {
    if (log.ended && live) void queries.invalidateQueries({ queryKey: queryKeys.run(run.id) });
  }, [log.ended, live, queries, run.id]);
  const fresh = left ? Math.max(held.total - left, 0) : 0;
  const line = chosen === null ? undefined : held.lines.find((line) => line.seq === chosen);
  const shown = virtual.getVirtualItems();
  return (
    <div className="flex min-h-[380px] flex-1 flex-col rounded-lg border max-lg:min-h-[60vh]">
      <LogToolbar
        input={input}
        text={text}
        onText={setText}
        total={held.total}
        matches={matches}
        onStep={(by) => void step(by)}
        only={only === "1"}
        onOnly={(on) => setOnly(on ? "1" : "")}
        level={level}
        onLevel={setLevel}
      />
      <LogFacets counts={counts} filter={view} onAttempt={setAttempt} onCategories={setCategory} />
      {log.error && rows.length ? (
        <ErrorCard bar error={log.error} what="Could not load more of the log" onRetry={() => void openTail()} />
      ) : null}
      <div className="flex min-h-0 flex-1 flex-col lg:flex-row">
        <div className="relative min-h-0 min-w-0 flex-1">
          <div
            ref={scroller}
            role="log"
            aria-label="Log"
            aria-live="off"
            tabIndex={0}
            onScroll={scrolled}
            className="absolute inset-0 overflow-auto py-1 font-mono text-xs leading-5 [contain:strict] focus-visible:-outline-offset-2"
          >
            {rows.length ? (
              <div className={cx("relative", !wrap && "min-w-full w-max")} style={{ height: size }}>
                <div
                  className={cx(wrap ? "absolute inset-x-0" : "min-w-full")}
                  style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}
                >
                  {shown.map((item) => {
                    const row = rows[item.index];
                    if (!row) return null;
                    return (
                      <div
                        key={item.key}
                        data-index={item.index}
                        ref={wrap ? virtual.measureElement : undefined}
                        className={wrap ? "min-h-5" : "h-5"}
                      >
                        <LogRow
                          row={row}
                          zone={zone}
                          find={find}
                          wrap={wrap}
                          chosen={"line" in row && row.line.seq === chosen}
                          onChoose={goTo}
                          onFold={fold}
                        />
                      </div>
                    );
                  })}
                </div>
              </div>
            ) : log.loading ? (
              <LogSkeleton />
            ) : log.error ? (
              <div className="p-4 font-sans">
                <ErrorCard error={log.error} what="Could not load the log" onRetry={() => void openTail()} />
              </div>
            ) : (
              <LogEmpty run={run} pruned={held.pruned} narrowed={isNarrowed(view)} />
            )}
          </div>
          {!follow && (live || held.detached) && rows.length ? (
            <button
              type="button"
              onClick={toEnd}
              className="absolute bottom-3 left-1/2 -translate-x-1/2 animate-appear rounded-full bg-accent px-3 py-1 text-xs font-medium text-on-accent shadow-overlay"
            >
              ▼ {fresh ? `${number(fresh)} new lines` : "Go to the end"}
            </button>
          ) : null}
        </div>
        {line ? (
          <LineInspector
            id={run.id}
            line={line}
            total={held.total}
            onClose={() => setChosen(null)}
            onSimilar={(alike) => {
              setText(alike);
              setOnly("1");
              jumpTo.current = line.seq;
            }}
          />
        ) : null}
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-1 text-xs text-muted">
        <span role="status">
          {live
            ? follow
              ? `▼ following · ${number(log.pace)} lines/s`
              : "not following"
            : log.gone
              ? "the run was deleted"
              : "ended"}
        </span>
        {live ? (
          <Button size="small" kind="quiet" hotkey="f" onClick={toggleFollow}>
            {follow ? "Stop" : "Follow"}
          </Button>
        ) : null}
        {held.pruned ? <span className="text-attention-ink">older lines were removed by retention</span> : null}
        <span className="ml-auto">times in {mark(Date.now(), zone)}</span>
        <Button size="small" kind="quiet" hotkey="." onClick={() => void nextError(chosen ?? 0)}>
          Next error
        </Button>
        <Button
          size="small"
          kind="quiet"
          hotkey="w"
          aria-pressed={wrap}
          icon={<WrapText size={13} aria-hidden />}
          onClick={() => setPrefs({ wrap: !wrap })}
        >
          Wrap
        </Button>
        <a
          href={pathOf("/api/runs/{run_id}/logs/raw", { params: { run_id: run.id } })}
          download={`${run.id}.log`}
          className="flex items-center gap-1 hover:text-ink"
        >
          <Download size={13} aria-hidden /> Raw
        </a>
      </div>
    </div>
  );
}

function LogSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2 p-3">
      {Array.from({ length: 14 }, (_, index) => (
        <Skeleton key={index} className={cx("h-3", ["w-2/3", "w-1/2", "w-3/4", "w-2/5"][index % 4])} />
      ))}
    </div>
  );
}
