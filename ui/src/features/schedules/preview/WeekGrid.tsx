import { useQuery } from "@tanstack/react-query";

import { send } from "@/api/client";
import type { PreviewRequest } from "@/api/schema";
import { tint } from "@/features/insights/calendar/heat";
import { number } from "@/time/moment";
import { addDays, startOfDay } from "@/time/zone";

import { weekOf } from "./week";

const MOST = 500;
const DAYS = [0, 1, 2, 3, 4, 5, 6];

interface Found {
  at: number[];
  /** There are more fires than were requested. */
  partly: boolean;
}

async function firesOf(trigger: PreviewRequest, from: number, count: number, signal: AbortSignal): Promise<number[]> {
  const body = { ...trigger, start_at: new Date(from).toISOString(), count };
  const preview = await send("POST", "/api/schedules/preview", { body, signal });
  return preview.next.map((fire) => Date.parse(fire.at));
}

/** The fires of a time span. A span with more than one answer holds is requested in quarters, once. */
async function within(
  trigger: PreviewRequest,
  from: number,
  to: number,
  split: boolean,
  signal: AbortSignal,
): Promise<Found> {
  const at = await firesOf(trigger, from, MOST, signal);
  const full = at.length === MOST && (at.at(-1) ?? 0) < to;
  if (!full || !split) return { at: at.filter((one) => one < to), partly: full };
  const quarter = (to - from) / 4;
  const parts = await Promise.all(
    [0, 1, 2, 3].map((part) => within(trigger, from + part * quarter, from + (part + 1) * quarter, false, signal)),
  );
  return { at: parts.flatMap((part) => part.at), partly: parts.some((part) => part.partly) };
}

/** The fires of seven days: one request when they are rare, one per day when they are frequent. */
async function fires(trigger: PreviewRequest, zone: string, signal: AbortSignal): Promise<Found> {
  const today = startOfDay(Date.now(), zone);
  const whole = await within(trigger, today, addDays(today, 7, zone), false, signal);
  if (!whole.partly) return whole;
  const found: Found = { at: [], partly: false };
  for (const day of DAYS) {
    const part = await within(trigger, addDays(today, day, zone), addDays(today, day + 1, zone), true, signal);
    found.at.push(...part.at);
    found.partly ||= part.partly;
  }
  return found;
}

/** A heatmap of the fires in seven days of 24 hours. */
export function WeekGrid({ trigger, zone }: { trigger: PreviewRequest; zone: string }) {
  const interval = trigger.type === "interval";
  const { data } = useQuery({
    queryKey: ["week", trigger],
    queryFn: ({ signal }) => fires(trigger, zone, signal),
    enabled: !interval,
    staleTime: 300_000,
    retry: false,
    placeholderData: (before) => before,
  });
  if (interval) return null;
  const { days, most } = weekOf(data?.at ?? [], Date.now(), zone);
  return (
    <div>
      <p className="mb-1 text-xs font-medium text-muted">Next 7 days by hour</p>
      <div
        role="img"
        aria-label={`Runs in the next 7 days: ${number(data?.at.length ?? 0)}${data?.partly ? " or more" : ""}`}
        className="grid grid-cols-[32px_repeat(24,1fr)] gap-px text-[10px] text-muted"
      >
        <span />
        {Array.from({ length: 24 }, (_, hour) => (
          <span key={hour} className="text-center">
            {hour % 6 === 0 ? hour : ""}
          </span>
        ))}
        {days.map((day) => (
          <Row key={day.date} weekday={day.weekday} hours={day.hours} most={most} />
        ))}
      </div>
      {data?.partly ? (
        <p className="mt-1 text-xs text-muted">Too frequent to draw completely; empty hours may not be empty.</p>
      ) : null}
    </div>
  );
}

function Row({ weekday, hours, most }: { weekday: string; hours: number[]; most: number }) {
  return (
    <>
      <span className="leading-4">{weekday}</span>
      {hours.map((count, hour) => (
        <span
          key={hour}
          title={count ? `${weekday} ${String(hour).padStart(2, "0")}:00: ${number(count)}×` : undefined}
          className="h-4 rounded-[2px]"
          style={{
            background: tint(
              count ? Math.max(Math.ceil((count / Math.max(most, 1)) * 4), most > 1 ? 1 : 4) : 0,
              "accent",
            ),
          }}
        />
      ))}
    </>
  );
}
