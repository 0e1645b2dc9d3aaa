import { ChevronRight } from "lucide-react";

import { cx } from "@/parts/cx";
import { Link } from "@/parts/Link";
import { kindOf } from "@/parts/state/kinds";
import { StateIcon } from "@/parts/state/StateBadge";
import { number } from "@/time/moment";

import { monitorOf, type ShownRow } from "./timelineRows";

const ICONS: Record<string, string> = { failing: "failed", missed: "missed", late: "late", running: "running" };

/** The label of a row: why it stands there, its name, and for a density row the button that opens it. */
export function RowLabel({
  row,
  by,
  height,
  onToggle,
}: {
  row: ShownRow;
  by: string;
  height: number;
  onToggle: (key: string) => void;
}) {
  const { fold } = row;
  const Icon = row.kind ? kindOf(row.kind).icon : null;
  const state = row.urgency ? ICONS[row.urgency] : undefined;
  const to = row.to ?? (row.schedule_id ? `/schedules/${row.schedule_id}` : addressOf(row, by));
  return (
    <li
      className={cx("flex items-center gap-1.5 border-b border-line/60 pr-2", row.nested ? "pl-5" : "pl-1")}
      style={{ height }}
    >
      {fold ? (
        <FoldName row={row} onToggle={onToggle} />
      ) : (
        <>
          {state ? (
            <StateIcon state={state} size={13} />
          ) : Icon ? (
            <Icon size={13} strokeWidth={1.75} className="shrink-0 text-muted max-md:hidden" aria-hidden />
          ) : null}
          <Link
            to={to}
            className="min-w-0 truncate hover:underline"
            title={row.summary ? `${row.name}: ${row.summary}` : row.name}
          >
            {row.name || "Runs without a schedule"}
          </Link>
        </>
      )}
    </li>
  );
}

const addressOf = (row: ShownRow, by: string): string => monitorOf(row) ?? listOf(row, by);

const listOf = (row: ShownRow, by: string): string =>
  row.key && !row.key.startsWith("fold ") ? `/schedules?q=${encodeURIComponent(`${by}:${row.key}`)}` : "/runs";

function FoldName({ row, onToggle }: { row: ShownRow; onToggle: (key: string) => void }) {
  const { fold } = row;
  if (!fold) return null;
  const text = (
    <>
      <span className="truncate">{row.name}</span>
      {fold.schedules ? <span className="text-xs text-muted">{number(fold.schedules)}</span> : null}
    </>
  );
  if (!fold.q)
    return (
      <Link to="/schedules" className="flex min-w-0 items-center gap-1.5 pl-4 hover:underline">
        {text}
      </Link>
    );
  return (
    <button
      type="button"
      aria-expanded={fold.open}
      title={`${number(fold.schedules)} schedules without a row of their own; open to see the most urgent`}
      className="flex min-w-0 items-center gap-1.5 text-left hover:underline"
      onClick={() => onToggle(fold.key)}
    >
      <ChevronRight
        size={13}
        aria-hidden
        className={cx("shrink-0 text-muted transition-transform", fold.open && "rotate-90")}
      />
      {text}
    </button>
  );
}
