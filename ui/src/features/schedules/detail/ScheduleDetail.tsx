import { useQuery } from "@tanstack/react-query";

import type { Schedule } from "@/api/schema";
import { NotifiedCard } from "@/features/alerts/NotifiedCard";
import { ScheduleAuditLog } from "@/features/audit_log/ScheduleAuditLog";
import { JUDGED_KINDS } from "@/features/expectations/quality";
import { QualityCard } from "@/features/expectations/QualityCard";
import { QualityTab } from "@/features/expectations/QualityTab";
import { YearHeatmap } from "@/features/insights/calendar/YearHeatmap";
import { InstantsTab } from "@/features/ledger/InstantsTab";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { type Crumb, Page } from "@/parts/Page";
import { Kind } from "@/parts/state/Kind";
import { StateBadge } from "@/parts/state/StateBadge";
import { Tabs } from "@/parts/Tabs";
import { number } from "@/time/moment";

import { useHealth, useHealthUpdates } from "../health";
import { previewQuery, runsOfQuery, triggerOf } from "../queries";
import { ActionButtons } from "./ActionButtons";
import { ChainCard } from "./ChainCard";
import { NextFires } from "./NextFires";
import { Notices } from "./Notices";
import { RunsTab } from "./RunsTab";
import { SettingsTab } from "./SettingsTab";
import { StateCard } from "./StateCard";
import { StatsCard } from "./StatsCard";
import { useThrottledRefetch } from "./useThrottledRefetch";
import { VersionsTab } from "./VersionsTab";

const RUNS_PACE = 2500;

/** The page of one schedule. */
export function ScheduleDetail({ schedule, error, crumbs }: { schedule: Schedule; error: unknown; crumbs: Crumb[] }) {
  useHealthUpdates();
  const health = useHealth(schedule.id);
  const runs = useQuery(runsOfQuery(schedule.id));
  useThrottledRefetch("runs", runsOfQuery(schedule.id).queryKey, RUNS_PACE);
  const preview = useQuery({ ...previewQuery({ ...triggerOf(schedule), count: 20 }), staleTime: 60_000 });
  const items = runs.data?.items ?? [];
  const more = Boolean(runs.data?.next_cursor);
  const newest = items[0]?.state;
  return (
    <Page
      title={schedule.name}
      tab={newest ? `${schedule.name} · ${newest.replace("_", " ")}` : schedule.name}
      state={schedule.status === "active" ? newest : schedule.status}
      crumbs={crumbs}
      aside={<>{schedule.status === "active" ? null : <StateBadge state={schedule.status} />}</>}
      actions={<ActionButtons schedule={schedule} />}
    >
      {error ? <ErrorCard bar error={error} what="Could not refresh; this may be out of date." /> : null}
      <Notices schedule={schedule} />
      <StateCard schedule={schedule} health={health} runs={items} />
      <div className="-mt-1 flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="text-base font-medium">{schedule.summary}</span>
        {schedule.cron_expr ? (
          <code className="rounded-sm bg-surface px-1.5 font-mono text-xs">{schedule.cron_expr}</code>
        ) : null}
        <Kind kind={schedule.action.kind} />
        {schedule.tags.map((tag) => (
          <Link
            key={tag}
            to={`/schedules?q=${encodeURIComponent(`tag:${tag}`)}`}
            className="text-muted hover:text-ink hover:underline"
          >
            #{tag}
          </Link>
        ))}
        <span className="text-muted">
          {schedule.last_run_at ? (
            <>
              Last run <Instant at={schedule.last_run_at} />
            </>
          ) : (
            "Never run"
          )}
        </span>
      </div>
      {schedule.description ? <p className="-mt-2 whitespace-pre-line text-muted">{schedule.description}</p> : null}
      <ChainCard id={schedule.id} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0">
          <Tabs
            tabs={[
              {
                id: "instants",
                label: "Scheduled times",
                content: (
                  <InstantsTab
                    schedule={schedule}
                    next={preview.data?.next.map((fire) => fire.at) ?? []}
                    runs={items}
                  />
                ),
              },
              {
                id: "runs",
                label: (
                  <>
                    Runs{" "}
                    {items.length ? (
                      <span className="text-xs text-muted">
                        {number(items.length)}
                        {more ? "+" : ""}
                      </span>
                    ) : null}
                  </>
                ),
                content: (
                  <RunsTab
                    id={schedule.id}
                    runs={items}
                    loading={runs.isPending}
                    error={runs.error}
                    more={more}
                    onRetry={() => void runs.refetch()}
                  />
                ),
              },
              ...(JUDGED_KINDS.includes(schedule.action.kind)
                ? [{ id: "quality", label: "Quality", content: <QualityTab schedule={schedule} /> }]
                : []),
              { id: "settings", label: "Settings", content: <SettingsTab schedule={schedule} /> },
              {
                id: "versions",
                label: (
                  <>
                    Versions <span className="text-xs text-muted">{number(schedule.version)}</span>
                  </>
                ),
                content: <VersionsTab schedule={schedule} />,
              },
              { id: "audit-log", label: "Audit log", content: <ScheduleAuditLog id={schedule.id} /> },
            ]}
          />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <NextFires schedule={schedule} />
          <StatsCard id={schedule.id} runs={items} health={health} more={more} loading={runs.isPending} />
          <NotifiedCard id={schedule.id} />
          <QualityCard id={schedule.id} />
        </div>
      </div>
      <YearHeatmap id={schedule.id} since={schedule.created_at} />
    </Page>
  );
}
