import { ChevronDown, ChevronRight } from "lucide-react";
import { memo } from "react";

import { cx } from "@/parts/cx";
import { clock } from "@/time/moment";

import { LineText } from "./LineText";
import { isError, NUMBERED, type Row } from "./rows";

const LEVEL_INK: Record<string, string> = {
  debug: "text-muted",
  info: "text-muted",
  warning: "text-attention-ink",
  error: "text-failed-ink",
  critical: "text-failed-ink font-semibold",
};

export interface LogRowProps {
  row: Row;
  zone: string;
  find: string;
  wrap: boolean;
  chosen: boolean;
  onChoose: (seq: number) => void;
  onFold: (seq: number, open: boolean) => void;
}

function Drawn({ row, zone, find, wrap, chosen, onChoose, onFold }: LogRowProps) {
  if (row.kind === "attempt" || row.kind === "gap") {
    return (
      <div className="flex h-5 items-center gap-3 px-3 text-xs text-muted">
        <span className="h-px flex-1 bg-line" />
        {row.kind === "attempt" ? `attempt ${row.attempt}` : row.text}
        <span className="h-px flex-1 bg-line" />
      </div>
    );
  }
  const space = wrap ? "whitespace-pre-wrap [overflow-wrap:anywhere]" : "whitespace-pre";
  const loud = isError(row.line.level);
  if (row.kind === "rest") {
    return (
      <div className={cx("flex pr-4 pl-3", loud && "bg-failed-tint/50")}>
        <span className="w-[248px] shrink-0 max-md:w-[100px]" />
        <span className={cx("min-w-0 text-muted", space)}>
          <LineText text={row.text || " "} find={find} />
        </span>
      </div>
    );
  }
  const { line } = row;
  return (
    <div
      data-seq={line.seq}
      className={cx("group flex pr-4 pl-3", chosen ? "bg-accent-tint" : loud ? "bg-failed-tint" : "hover:bg-surface")}
    >
      <button
        type="button"
        tabIndex={-1}
        onClick={() => onChoose(line.seq)}
        title={`Link to this line. ${NUMBERED}`}
        className="w-14 shrink-0 pr-3 text-right text-muted select-none hover:text-accent hover:underline max-md:hidden"
      >
        {line.seq}
      </button>
      <span className="w-[100px] shrink-0 text-muted max-md:hidden">{clock(line.at, zone, "milli")}</span>
      <span className="w-[66px] shrink-0 text-muted md:hidden">{clock(line.at, zone, "second")}</span>
      <span
        className={cx("w-[72px] shrink-0 uppercase max-md:w-3.5", LEVEL_INK[line.level] ?? "text-muted")}
        title={line.level}
      >
        <span className="max-md:hidden">{line.level === "warning" ? "warn" : line.level}</span>
        <span className="md:hidden">{line.level.slice(0, 1)}</span>
      </span>
      <span className="w-5 shrink-0">
        {row.more ? (
          <button
            type="button"
            aria-expanded={row.open}
            aria-label={row.open ? `Hide ${row.more} lines` : `Show ${row.more} lines`}
            onClick={() => onFold(line.seq, !row.open)}
            className="text-muted hover:text-ink"
          >
            {row.open ? <ChevronDown size={14} className="inline" /> : <ChevronRight size={14} className="inline" />}
          </button>
        ) : null}
      </span>
      {/* A click on the text selects the line; selecting text with the pointer does not. */}
      <span
        className={cx("min-w-0 flex-1 cursor-text", space, loud && "text-failed-ink")}
        onClick={(event) => {
          if ((event.target as Element).closest("a") || window.getSelection()?.toString()) return;
          onChoose(line.seq);
        }}
      >
        <LineText text={row.text || " "} find={find} />
        {row.more && !row.open ? (
          <span className="ml-2 rounded-sm bg-neutral-tint px-1 text-muted">{row.more} more lines</span>
        ) : null}
      </span>
    </div>
  );
}

/** Rows are rebuilt whenever the log grows; equal ones are not rendered again. */
export const LogRow = memo(Drawn, (before, after) => {
  const same = sameRow(before.row, after.row);
  return (
    same &&
    before.zone === after.zone &&
    before.find === after.find &&
    before.wrap === after.wrap &&
    before.chosen === after.chosen &&
    before.onChoose === after.onChoose &&
    before.onFold === after.onFold
  );
});

function sameRow(one: Row, other: Row): boolean {
  if (one.kind !== other.kind || one.key !== other.key) return false;
  if (one.kind === "line" && other.kind === "line") return one.line === other.line && one.open === other.open;
  return one.kind === "gap" && other.kind === "gap" ? one.text === other.text : true;
}
