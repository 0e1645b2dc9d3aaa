import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import type { Schedule, ScheduleVersion } from "@/api/schema";
import { fieldChanges } from "@/features/audit_log/changes";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { SkeletonRows } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { titleTime } from "@/time/moment";

const MOST = 200;

/** The versions of a schedule, any two of them side by side: only the settings that differ. */
export function VersionsTab({ schedule }: { schedule: Schedule }) {
  const zone = useZone();
  const now = Date.now();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["schedules", "versions", schedule.id, schedule.version],
    queryFn: ({ signal }) =>
      ask("/api/schedules/{schedule_id}/versions", {
        params: { schedule_id: schedule.id },
        query: { limit: MOST },
        signal,
      }),
  });
  const [newer, setNewer] = useUrl("version");
  const [older, setOlder] = useUrl("with");
  if (isPending) return <SkeletonRows rows={4} />;
  if (error) return <ErrorCard error={error} what="Could not load the versions" onRetry={() => void refetch()} />;
  const versions = data.items;
  const find = (text: string) => versions.find((one) => String(one.version) === text);
  const one = find(newer) ?? versions[0];
  const other = find(older) ?? versions.find((each) => one && each.version < one.version);
  if (!one) return null;
  const option = (each: ScheduleVersion) => (
    <option key={each.version} value={each.version}>
      {each.version} – {titleTime(each.at, zone, now)}
      {each.user_id ? `, ${each.user_id}` : ""}
      {each.version === schedule.version ? " (current)" : ""}
    </option>
  );
  return (
    <div className="flex flex-col gap-4">
      {other ? (
        <>
          <div className="flex flex-wrap items-center gap-2">
            Version
            <Choice label="Version" value={other.version} onChange={setOlder}>
              {versions.map(option)}
            </Choice>
            compared with
            <Choice label="Compared with" value={one.version} onChange={setNewer}>
              {versions.map(option)}
            </Choice>
          </div>
          <Differences one={other} other={one} />
        </>
      ) : (
        <p className="text-muted">This is the first version: nothing has been changed yet.</p>
      )}
      <ol aria-label="Versions" className="divide-y rounded-lg border">
        {versions.map((each) => (
          <li key={each.version} className="flex flex-wrap items-center gap-x-3 px-3 py-1.5">
            <span className="font-medium">Version {each.version}</span>
            {each.change ? <span>{each.change.replaceAll("_", " ")}</span> : null}
            {each.user_id ? <span className="text-muted">by {each.user_id}</span> : null}
            {each.status === "paused" ? (
              <span className="text-muted">paused{each.reason ? `: ${each.reason}` : ""}</span>
            ) : null}
            <span className="ml-auto text-xs text-muted">
              <Instant at={each.at} />
            </span>
          </li>
        ))}
        {data.next_cursor ? (
          <li className="px-3 py-1.5 text-muted">Older versions: foliot schedule versions {schedule.name}</li>
        ) : null}
      </ol>
    </div>
  );
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: number;
  onChange: (value: string) => void;
  children: React.ReactNode;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="h-8 max-w-full rounded border bg-bg px-2"
    >
      {children}
    </select>
  );
}

function Differences({ one, other }: { one: ScheduleVersion; other: ScheduleVersion }) {
  if (!one.settings || !other.settings)
    return <p className="text-muted">The stored settings of one of these versions are damaged.</p>;
  const changes = fieldChanges(one.settings, other.settings);
  if (!changes.length)
    return (
      <p className="text-muted">
        Same settings. Pausing, resuming, renaming and tagging create versions too; the audit log has the names and
        tags.
      </p>
    );
  return (
    <div className="overflow-x-auto rounded-lg border">
      <table aria-label="Differences" className="w-full text-left">
        <thead className="border-b bg-surface text-xs text-muted">
          <tr>
            <th scope="col" className="px-3 py-2 font-medium">
              Setting
            </th>
            <th scope="col" className="px-3 py-2 font-medium">
              Version {one.version}
            </th>
            <th scope="col" className="px-3 py-2 font-medium">
              Version {other.version}
            </th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <tr key={change.field} className="border-b border-line/60 align-top last:border-0">
              <th scope="row" className="px-3 py-1 text-xs font-normal text-muted">
                {change.field}
              </th>
              <td className="px-3 py-1 font-mono text-xs break-all">
                <del className="text-failed-ink decoration-1">{change.before}</del>
              </td>
              <td className="px-3 py-1 font-mono text-xs break-all">
                <ins className="text-success-ink no-underline">{change.after}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
