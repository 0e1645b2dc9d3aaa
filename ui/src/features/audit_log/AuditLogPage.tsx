import { useMemo } from "react";
import { Download } from "lucide-react";

import { pathOf } from "@/api/client";
import type { AuditLogEntry } from "@/api/schema";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { command } from "@/parts/copy/snippets";
import { downloadText } from "@/parts/copy/download";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { NewRowsPill } from "@/parts/table/NewRowsPill";
import { useLiveList } from "@/parts/table/useLiveList";
import { useUrl } from "@/parts/useUrl";

import { AuditEntry } from "./AuditEntry";

const rowId = (entry: AuditLogEntry): string => entry.id;
const THINGS = [
  "schedule",
  "run",
  "dead_letter",
  "bulk",
  "queue",
  "key",
  "secret",
  "tenant",
  "crawl",
  "article",
  "task",
  "pipeline",
];

/** The audit log of the tenant, newest first. */
export default function AuditLogPage() {
  const [user, setUser] = useUrl("user");
  const [thing, setThing] = useUrl("thing");
  const [thingId, setThingId] = useUrl("thing_id");
  const [verb, setVerb] = useUrl("verb");
  const query = useMemo(() => ({ user, thing, thing_id: thingId, verb }), [user, thing, thingId, verb]);
  const list = useLiveList({ path: "/api/audit", query, topic: "schedules", rowId, limit: 100 });
  const filtered = Boolean(user || thing || thingId || verb);
  const clear = (): void => {
    for (const set of [setUser, setThing, setThingId, setVerb]) set("");
  };
  return (
    <Page
      title="Audit log"
      actions={
        <>
          <Button
            icon={<Download size={14} aria-hidden />}
            disabled={!list.rows.length}
            onClick={() => downloadText(JSON.stringify(list.rows, null, 2), "audit-log.json")}
          >
            Export these entries
          </Button>
          <CopyAs
            call={{
              verb: "List audit entries",
              method: "GET",
              path: pathOf("/api/audit", { query: { ...query, limit: 100 } }),
              cli: command("audit list", {
                "--user": user,
                "--thing": thing,
                "--id": thingId,
                "--verb": verb,
                "--limit": 100,
              }),
            }}
          />
        </>
      }
    >
      <div className="flex flex-wrap items-end gap-3 text-sm">
        <Field label="Actor" value={user} onChange={setUser} placeholder="ada" />
        <label className="flex flex-col gap-1">
          <span className="text-xs text-muted">Type</span>
          <select
            value={thing}
            onChange={(event) => setThing(event.target.value)}
            className="h-8 rounded border bg-bg px-2"
          >
            <option value="">all types</option>
            {THINGS.map((thing) => (
              <option key={thing} value={thing}>
                {thing.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <Field label="Object" value={thingId} onChange={setThingId} placeholder="sch_…" mono />
        <Field label="Action" value={verb} onChange={setVerb} placeholder="pause" />
        {filtered ? (
          <Button kind="quiet" onClick={clear}>
            Clear filters
          </Button>
        ) : null}
      </div>
      {list.error ? <ErrorCard error={list.error} what="Could not load the audit log" onRetry={list.refetch} /> : null}
      {list.loading ? (
        <SkeletonRows />
      ) : list.rows.length ? (
        <div className="relative overflow-hidden rounded-lg border">
          {list.newRows ? <NewRowsPill count={list.newRows} onShow={list.showNew} /> : null}
          <ul className="divide-y">
            {list.rows.map((entry) => (
              <AuditEntry key={entry.id} entry={entry} onReverted={list.refetch} />
            ))}
          </ul>
          {list.hasMore ? (
            <div className="border-t p-2 text-center">
              <Button size="small" onClick={list.more}>
                Show older
              </Button>
            </div>
          ) : null}
        </div>
      ) : list.error ? null : (
        <Empty
          title={filtered ? "No entries match" : "No changes yet"}
          actions={filtered ? <Button onClick={clear}>Clear filters</Button> : null}
          cli={filtered ? null : "audit list"}
        >
          Every change is recorded here, with its values before and after.
        </Empty>
      )}
    </Page>
  );
}

function Field({
  label,
  value,
  onChange,
  placeholder,
  mono,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
  mono?: boolean;
}) {
  return (
    <label className="flex flex-col gap-1">
      <span className="text-xs text-muted">{label}</span>
      <input
        key={value}
        defaultValue={value}
        placeholder={placeholder}
        onBlur={(event) => onChange(event.target.value.trim())}
        onKeyDown={(event) => event.key === "Enter" && onChange(event.currentTarget.value.trim())}
        className={`h-8 w-40 rounded border bg-bg px-2 ${mono ? "font-mono text-xs" : ""}`}
      />
    </label>
  );
}
