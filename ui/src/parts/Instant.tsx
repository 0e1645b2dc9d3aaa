import { useZone } from "@/prefs";
import { both, clock, exact, humane, millis, type Precision, relative, short } from "@/time/format";
import { useNow } from "@/time/useNow";

export interface InstantProps {
  at: string | number | null | undefined;
  /**
   * `humane`: relative below a day, absolute beyond. `short`: 02:30 CET, with the day when it is not today.
   * `clock`: without the zone, only where a header names it. `relative`: always "4 m ago".
   */
  as?: "humane" | "short" | "clock" | "relative";
  precision?: Precision;
  /** The zone of the schedule: shown as well when it is not the viewer's. */
  zone?: string;
  none?: string;
}

/** An instant by the time rule: with the label of its zone, and the exact time as a tooltip. */
export function Instant({ at, as = "humane", precision = "minute", zone, none = "–" }: InstantProps) {
  const viewer = useZone();
  const far = at === null || at === undefined || Math.abs(millis(at) - Date.now()) > 3_600_000;
  const now = useNow(far ? 30_000 : 1000);
  if (at === null || at === undefined) return <span className="text-muted">{none}</span>;
  if (zone) {
    const [there, here] = both(at, zone, viewer, now);
    return (
      <time dateTime={new Date(millis(at)).toISOString()} title={exact(at, now)} className="whitespace-nowrap">
        {there}
        {here ? <span className="text-muted"> · {here}</span> : null}
      </time>
    );
  }
  const text = {
    humane: () => humane(at, viewer, now),
    short: () => short(at, viewer, now, precision),
    clock: () => clock(at, viewer, precision),
    relative: () => relative(at, now),
  }[as]();
  return (
    <time
      dateTime={new Date(millis(at)).toISOString()}
      title={`${short(at, viewer, now, "second")} · ${exact(at, now)}`}
      className="whitespace-nowrap"
    >
      {text}
    </time>
  );
}
