import { X } from "lucide-react";

import type { LogLine } from "@/api/schema";
import { Button } from "@/parts/Button";
import { CopyButton } from "@/parts/copy/CopyButton";
import { useZone } from "@/prefs";
import { absolute, number } from "@/time/moment";

import { logFilterOf } from "./logFilter";
import { NUMBERED } from "./rows";
import { useLineCounts } from "./useLineCounts";

/** One log line in full: its text, its time in both zones, its link. */
export function LineInspector({
  id,
  line,
  total,
  onClose,
  onSimilar,
}: {
  id: string;
  line: LogLine;
  total: number;
  onClose: () => void;
  onSimilar: (text: string) => void;
}) {
  const zone = useZone();
  const text = similar(line.message);
  const alike = useLineCounts(id, logFilterOf("debug", text, "", ""), total)?.count;
  const link = `${window.location.origin}${window.location.pathname}#L${line.seq}`;
  return (
    <aside
      aria-label={`Line ${line.seq}`}
      className="flex w-full shrink-0 flex-col gap-2 overflow-auto border-t p-3 text-xs lg:w-[360px] lg:border-t-0 lg:border-l"
    >
      <div className="flex items-center gap-2">
        <h3 className="text-sm font-semibold" title={NUMBERED}>
          Line {number(line.seq)}
        </h3>
        <Button
          size="small"
          kind="quiet"
          className="ml-auto"
          aria-label="Close"
          icon={<X size={14} />}
          onClick={onClose}
        />
      </div>
      <dl className="grid grid-cols-[64px_1fr] gap-y-1">
        <dt className="text-muted">level</dt>
        <dd className="uppercase">{line.level}</dd>
        {line.category ? (
          <>
            <dt className="text-muted">category</dt>
            <dd>{line.category}</dd>
          </>
        ) : null}
        <dt className="text-muted">at</dt>
        <dd>{absolute(line.at, zone, Date.now(), "milli")}</dd>
        <dt className="text-muted">UTC</dt>
        <dd className="font-mono break-all">{line.at}</dd>
        <dt className="text-muted">attempt</dt>
        <dd>{line.attempt ?? "–"}</dd>
        <dt className="text-muted">length</dt>
        <dd>{number(line.message.length)} characters</dd>
      </dl>
      <div className="flex flex-wrap gap-2">
        <CopyButton size="small" text={line.message} label="Copy" />
        <CopyButton size="small" text={link} label="Copy link" />
        {text ? (
          <Button size="small" onClick={() => onSimilar(text)} title={`Lines containing “${text}”`}>
            Show similar{alike === undefined ? "" : ` ${number(alike)}`}
          </Button>
        ) : null}
      </div>
      <pre
        tabIndex={0}
        className="max-h-80 overflow-auto rounded border bg-surface p-2 font-mono whitespace-pre-wrap [overflow-wrap:anywhere] lg:max-h-none lg:flex-1"
      >
        {line.message}
      </pre>
    </aside>
  );
}

/** The beginning of a message up to its first number or address: what such lines have in common. */
function similar(message: string): string {
  const [first = ""] = message.split("\n");
  const start = /^\D{4,60}?(?=https?:|\d|$)/.exec(first)?.[0] ?? first.slice(0, 30);
  return start.trim().slice(0, 60);
}
