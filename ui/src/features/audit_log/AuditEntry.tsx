import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";

import type { AuditLogEntry } from "@/api/schema";
import { cx } from "@/parts/cx";
import { shortId } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { number } from "@/time/moment";

import { fieldChanges } from "./changes";
import { isScheduleEdit, recordedName } from "./edits";
import { RevertButton } from "./RevertButton";

const PAGE_OF: Record<string, string> = {
  schedule: "/schedules/",
  run: "/runs/",
  dead_letter: "/runs/",
  bulk: "/bulk/",
  pipeline: "/pipelines/",
  crawl: "/crawls/",
  article: "/crawls/",
  monitor: "/monitors/",
  watch: "/watches/",
  alert: "/alerts/",
};
const INTERFACES: Record<string, string> = {
  rest: "API or dashboard",
  rpc: "gRPC",
  discord: "Discord",
  cli: "command line",
  file: "a file",
  code: "code",
};
const LONGEST = 40;

/** One entry of the audit log: actor, change and time; unfolded, the fields before and after. */
export function AuditEntry({ entry, onReverted }: { entry: AuditLogEntry; onReverted?: () => void }) {
  const [open, setOpen] = useState(false);
  const changes = fieldChanges(entry.before, entry.after);
  const Chevron = open ? ChevronDown : ChevronRight;
  const place = PAGE_OF[entry.thing];
  const called = entry.thing_name ?? recordedName(entry);
  const id = /^[a-z]+_[0-9a-f]{32}$/.test(entry.thing_id) ? shortId(entry.thing_id) : entry.thing_id;
  return (
    <li>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <button
          type="button"
          aria-expanded={open}
          aria-label={`${open ? "Hide" : "Show"} changes`}
          onClick={() => setOpen(!open)}
          className="rounded-sm p-0.5 text-muted hover:text-ink"
        >
          <Chevron size={16} aria-hidden />
        </button>
        <span className="font-medium">{entry.user_id || "unknown user"}</span>
        <span>{entry.verb.replaceAll("_", " ")}</span>
        <span className="text-muted">{entry.thing.replaceAll("_", " ")}</span>
        {place ? (
          <Link
            to={`${place}${encodeURIComponent(entry.thing_id)}`}
            className={cx("min-w-0 truncate hover:underline", !called && "font-mono text-xs")}
          >
            {called ?? id}
          </Link>
        ) : (
          <span className={cx("min-w-0 truncate", !called && "font-mono text-xs")}>{called ?? id}</span>
        )}
        {called ? <span className="font-mono text-xs text-muted">{id}</span> : null}
        <span className="text-xs text-muted">
          by {INTERFACES[entry.door] ?? entry.door}
          {entry.key_id ? `, key ${shortId(entry.key_id)}` : ""}
        </span>
        <span className="ml-auto text-xs text-muted">
          <Instant at={entry.at} as="short" precision="second" />
        </span>
      </div>
      {open ? (
        <div className="border-t bg-surface px-3 py-2 pl-10 text-xs">
          {changes.length ? (
            <ul className="flex flex-col gap-0.5 font-mono break-all">
              {changes.slice(0, LONGEST).map((change) => (
                <li key={change.field}>
                  <span className="text-muted">{change.field}</span>{" "}
                  <del className="text-failed-ink decoration-1">{change.before}</del> →{" "}
                  <ins className="text-success-ink no-underline">{change.after}</ins>
                </li>
              ))}
              {changes.length > LONGEST ? (
                <li className="text-muted">and {number(changes.length - LONGEST)} more fields</li>
              ) : null}
            </ul>
          ) : (
            <p className="text-muted">No further details were recorded.</p>
          )}
          {isScheduleEdit(entry) ? <RevertButton entry={entry} name={called ?? id} onReverted={onReverted} /> : null}
          <p className="mt-2 text-muted">
            {entry.seq === null ? "Not chained yet" : `Entry ${number(entry.seq)} of the chain`}
            {entry.digest ? <span className="ml-2 font-mono">{entry.digest.slice(0, 16)}…</span> : null}
          </p>
        </div>
      ) : null}
    </li>
  );
}
