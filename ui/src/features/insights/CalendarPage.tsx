import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { toast } from "sonner";

import { ask, pathOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { TimelineGrouping } from "@/api/schema";
import { SCHEDULE_FIELDS } from "@/features/filters/fields";
import { FilterBox } from "@/features/filters/FilterBox";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, command } from "@/parts/copy/snippets";
import { cx } from "@/parts/cx";
import { Page } from "@/parts/Page";
import { useKeys } from "@/parts/useKeys";
import { useNavigateTo, useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { clock, day, millis } from "@/time/moment";
import { format } from "@/time/zone";

import { GanttView } from "./calendar/GanttView";
import { MonthView, type Shown } from "./calendar/MonthView";
import { dateOf, momentOf, type Range, rangeOf, stepOf, type View } from "./calendar/range";

const VIEWS: readonly View[] = ["month", "week", "day"];
const YEAR = 366 * 86_400_000;

/** Past runs and planned instants by month, week or day. */
export default function CalendarPage() {
  const zone = useZone();
  const go = useNavigateTo();
  const [chosen, setView] = useUrl("view", "month");
  const [date] = useUrl("date");
  const [q, setQ] = useUrl("q");
  const [by, setBy] = useUrl("by", "schedule");
  const [shown, setShown] = useUrl("show", "runs");
  const [zoom, setZoom] = useUrl("zoom");
  const view = VIEWS.find((view) => view === chosen) ?? "month";
  const at = momentOf(date, zone, Date.now());
  const whole = rangeOf(view, at, zone);
  const range = zoomed(zoom, whole);
  const to = (moment: number, next: View = view): void => {
    const given = new URLSearchParams({
      ...(next === "month" ? {} : { view: next }),
      date: dateOf(moment, zone),
      ...(q ? { q } : {}),
      ...(by === "schedule" ? {} : { by }),
      ...(shown === "runs" ? {} : { show: shown }),
    });
    go(`/calendar?${given.toString()}`);
  };
  useKeys({ arrowleft: () => to(stepOf(view, at, -1, zone)), arrowright: () => to(stepOf(view, at, 1, zone)) });
  const query = { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString(), group_by: by, q };
  // The list validates the filter, also before the timeline is loaded.
  const check = useQuery({
    queryKey: queryKeys.schedules({ q, limit: 1 }),
    queryFn: ({ signal }) => ask("/api/schedules", { query: { q, limit: 1 }, signal }),
    enabled: q !== "",
    retry: false,
  });
  const next = async (): Promise<void> => {
    const from = Math.max(Date.now(), range.to);
    const ahead = await ask("/api/timeline", {
      query: { from: new Date(from).toISOString(), to: new Date(from + YEAR - 1000).toISOString(), q },
    }).catch(() => null);
    const first = Math.min(...(ahead?.groups.flatMap((group) => group.marks.map((mark) => millis(mark.at))) ?? []));
    if (Number.isFinite(first)) to(first);
    else toast("Nothing is scheduled in the following year.");
  };
  const { from, to: until } = query;
  const call: Call =
    view === "month"
      ? {
          verb: "Count runs by hour",
          method: "GET",
          path: pathOf("/api/calendar", { query: { from, to: until, granularity: "hour", timezone: zone } }),
          cli: command("calendar", { "--from": from, "--to": until, "--by": "hour", "--timezone": zone }),
        }
      : {
          verb: "Show the timeline",
          method: "GET",
          path: pathOf("/api/timeline", { query: { ...query, group_by: by as TimelineGrouping } }),
          cli: command("timeline", { "--from": from, "--to": until, "--by": by, "--query": q }),
        };
  return (
    <Page title="Calendar" actions={<CopyAs call={call} />}>
      <div className="flex flex-wrap items-center gap-2">
        <div className="flex items-center gap-1">
          <Button
            aria-label="Earlier"
            icon={<ChevronLeft size={16} />}
            onClick={() => to(stepOf(view, at, -1, zone))}
          />
          <Button onClick={() => to(Date.now())}>Today</Button>
          <Button aria-label="Later" icon={<ChevronRight size={16} />} onClick={() => to(stepOf(view, at, 1, zone))} />
        </div>
        <h2 className="px-1 text-lg font-semibold">{titleOf(view, whole, zone)}</h2>
        <div role="group" aria-label="View" className="flex overflow-hidden rounded border md:ml-auto">
          {VIEWS.map((choice) => (
            <button
              key={choice}
              type="button"
              aria-pressed={view === choice}
              onClick={() => (zoom ? to(at, choice) : setView(choice, true))}
              className={cx(
                "h-8 border-r px-3 capitalize last:border-r-0",
                view === choice ? "bg-accent-tint font-medium" : "text-muted hover:bg-surface",
              )}
            >
              {choice}
            </button>
          ))}
        </div>
      </div>
      {view === "month" ? (
        <MonthView range={whole} shown={shown as Shown} onShown={setShown} />
      ) : (
        <>
          <div className="flex flex-col gap-2 md:flex-row md:items-start">
            <FilterBox
              value={q}
              onChange={(text) => setQ(text, true)}
              fields={SCHEDULE_FIELDS}
              placeholder="name, tag:prices queue:scraping"
              error={check.error}
              label="Filter schedules"
            />
            <label className="flex items-center gap-2 text-muted">
              Rows
              <select
                value={by}
                onChange={(event) => setBy(event.target.value)}
                className="h-8 rounded border bg-bg px-2 text-ink"
              >
                <option value="schedule">by schedule</option>
                <option value="tag">by tag</option>
                <option value="queue">by queue</option>
              </select>
            </label>
            {zoom ? (
              <Button hotkey="esc" onClick={() => setZoom("")}>
                {clock(range.from, zone)}–{clock(range.to, zone)} · show all
              </Button>
            ) : null}
          </div>
          <GanttView
            range={range}
            by={by as TimelineGrouping}
            q={check.error ? "" : q}
            onZoom={(from, until) => until - from >= 60_000 && setZoom(`${from}-${until}`, true)}
            onNext={() => void next()}
          />
        </>
      )}
    </Page>
  );
}

function zoomed(text: string, whole: Range): Range {
  const [from, to] = text.split("-").map(Number);
  return from && to && from < to ? { from, to } : whole;
}

function titleOf(view: View, range: Range, zone: string): string {
  if (view === "month") return format(zone, { month: "long", year: "numeric" }).format(range.from);
  if (view === "day")
    return format(zone, { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(range.from);
  return `${day(range.from, zone, Date.now())} – ${day(range.to - 1, zone, Date.now())}`;
}
