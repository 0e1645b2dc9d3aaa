import type { HourlyCount } from "@/api/schema";
import { useZone } from "@/prefs";
import { number, short } from "@/time/moment";

/** Arrivals per hour of the last day. */
export function HourlyArrivals({ hours, height = 28 }: { hours: readonly HourlyCount[]; height?: number }) {
  const zone = useZone();
  const top = Math.max(...hours.map((hour) => hour.count), 1);
  const total = hours.reduce((sum, one) => sum + one.count, 0);
  return (
    <svg
      role="img"
      aria-label={`${number(total)} in the last ${hours.length} hours`}
      width={hours.length * 6}
      height={height}
      className="block shrink-0"
    >
      {hours.map((hour, index) => {
        const tall = hour.count ? Math.max((hour.count / top) * (height - 2), 2) : 1;
        return (
          <rect
            key={hour.at}
            x={index * 6}
            width={4}
            y={height - tall}
            height={tall}
            rx={1}
            fill={hour.count ? "var(--dead)" : "var(--line)"}
          >
            <title>{`${short(hour.at, zone, Date.now())}: ${number(hour.count)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
