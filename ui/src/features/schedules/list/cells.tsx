import { TriangleAlert } from "lucide-react";

import type { Schedule } from "@/api/schema";
import { Duration } from "@/parts/Duration";
import { Link } from "@/parts/Link";
import { kindOf } from "@/parts/state/kinds";
import { StateIcon } from "@/parts/state/StateBadge";
import { useZone } from "@/prefs";
import { clock, day, exact, mark, millis, percent, relative } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { useHealth } from "../health";
import { OutcomeStrip } from "../OutcomeStrip";

/** The name and the action; the icon shows the health. */
export function NameCell({ schedule, onTag }: { schedule: Schedule; onTag: (tag: string) => void }) {
  const health = useHealth(schedule.id);
  const { label, icon: Icon } = kindOf(schedule.action.kind);
  const failing = schedule.status === "active" && (health?.streak ?? 0) > 0;
  return (
    <div className="flex min-w-0 items-start gap-2">
      <Icon size={16} strokeWidth={1.75} className="mt-0.5 hidden shrink-0 text-muted md:block" aria-hidden />
      <div className="min-w-0">
        <div className="flex min-w-0 items-center gap-1.5">
          <Link
            to={`/schedules/${schedule.id}`}
            className="truncate font-medium hover:underline"
            title={schedule.description || schedule.name}
          >
            {schedule.name}
          </Link>
          {failing ? (
            <span
              className="inline-flex shrink-0 items-center gap-0.5 text-xs text-failed-ink"
              title={`Failed ${health?.streak} times in a row`}
            >
              <StateIcon state="failed" size={14} /> {health?.streak}×
            </span>
          ) : null}
          {schedule.fault ? (
            <span title={`Damaged: ${schedule.fault}`} className="text-failed-ink">
              <TriangleAlert size={14} aria-label="damaged" />
            </span>
          ) : null}
          {schedule.status !== "active" ? <StateIcon state={schedule.status} size={14} /> : null}
        </div>
        <div className="hidden min-w-0 items-center gap-2 text-xs text-muted md:flex">
          <span className="shrink-0">{label}</span>
          {schedule.tags.map((tag) => (
            <button
              key={tag}
              type="button"
              className="truncate hover:text-ink hover:underline"
              onClick={() => onTag(tag)}
            >
              #{tag}
            </button>
          ))}
        </div>
      </div>
    </div>
  );
}

/** Triggers to which no time zone matters. */
const TIMELESS: ReadonlySet<string> = new Set(["interval", "after"]);

/** The trigger in words, and as it is stored below. */
export function WhenCell({ schedule }: { schedule: Schedule }) {
  const trigger = schedule.summary.replace(/ \([^)]*\)$/, "");
  const code = schedule.cron_expr ?? schedule.type;
  return (
    <div className="min-w-0">
      <div className="truncate" title={schedule.summary}>
        {trigger}
      </div>
      <div className="hidden truncate text-xs text-muted md:block">
        <span className="font-mono">{code}</span>
        {TIMELESS.has(schedule.type) ? null : ` · ${schedule.timezone}`}
      </div>
    </div>
  );
}

/** The next fire with its countdown; below it in the schedule's zone, when that differs. */
export function NextCell({ schedule }: { schedule: Schedule }) {
  const zone = useZone();
  const near = schedule.next_run_at !== null && millis(schedule.next_run_at) - Date.now() < 3_600_000;
  const now = useNow(near ? 1000 : 30_000);
  if (schedule.status === "paused") {
    return (
      <div className="min-w-0">
        <div
          className="truncate text-muted"
          title={`${schedule.paused_by ? `by ${schedule.paused_by}` : ""} ${schedule.paused_at ? exact(schedule.paused_at, now) : ""}`.trim()}
        >
          paused{schedule.paused_at ? ` since ${day(schedule.paused_at, zone, now)}` : ""}
        </div>
        {schedule.paused_reason ? (
          <div className="hidden truncate text-xs text-muted md:block" title={schedule.paused_reason}>
            “{schedule.paused_reason}”
          </div>
        ) : null}
      </div>
    );
  }
  const at = schedule.next_run_at;
  if (!at) return <span className="text-muted">{schedule.status === "completed" ? "completed" : "–"}</span>;
  const today = day(at, zone, now) === day(now, zone, now);
  // Seconds matter in the hour before.
  const precision = near && millis(at) % 60_000 && today ? "second" : "minute";
  const there = clock(at, schedule.timezone, precision);
  const other =
    !TIMELESS.has(schedule.type) &&
    mark(millis(at), schedule.timezone) !== mark(millis(at), zone) &&
    there !== clock(at, zone, precision);
  return (
    <time dateTime={at} title={exact(at, now)} className="block min-w-0">
      <div className="flex gap-2 whitespace-nowrap">
        <span>
          {today ? "" : `${day(at, zone, now)} `}
          {clock(at, zone, precision)}
        </span>
        <span className="text-muted">{relative(at, now)}</span>
      </div>
      {schedule.skips ? (
        <div className="hidden truncate text-xs text-attention-ink md:block">
          {clock(schedule.skips.at, zone, precision)} skipped by {schedule.skips.by ?? "a user"}
        </div>
      ) : other ? (
        <div className="hidden truncate text-xs text-muted md:block">
          {there} {mark(millis(at), schedule.timezone)} there
        </div>
      ) : null}
    </time>
  );
}

export function StripCell({ schedule }: { schedule: Schedule }) {
  return <OutcomeStrip outcomes={useHealth(schedule.id)?.outcomes} />;
}

export function RatioCell({ schedule }: { schedule: Schedule }) {
  const health = useHealth(schedule.id);
  const ratio = health?.success_ratio;
  const bad = ratio !== null && ratio !== undefined && ratio < 0.9;
  return <span className={bad ? "text-failed-ink" : undefined}>{percent(ratio)}</span>;
}

export function AverageCell({ schedule }: { schedule: Schedule }) {
  return <Duration ms={useHealth(schedule.id)?.avg_duration_ms} />;
}
