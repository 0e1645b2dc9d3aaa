import { useZone } from "@/prefs";
import { number, short } from "@/time/moment";

export interface Hour {
  at: string;
  count: number;
}

/** How many came in each hour of the last day. */
export function Arrivals({ hours, height = 28 }: { hours: readonly Hour[]; height?: number }) {
  const zone = useZone();
  const top = Math.max(...hours.map((one) => one.count), 1);
  const total = hours.reduce((sum, one) => sum + one.count, 0);
  return (
    <svg
      role="img"
      aria-label={`${number(total)} in the last ${hours.length} hours`}
      width={hours.length * 6}
      height={height}
      className="block shrink-0"
    >
      {hours.map((one, index) => {
        const tall = one.count ? Math.max((one.count / top) * (height - 2), 2) : 1;
        return (
          <rect
            key={one.at}
            x={index * 6}
            width={4}
            y={height - tall}
            height={tall}
            rx={1}
            fill={one.count ? "var(--dead)" : "var(--line)"}
          >
            <title>{`${short(one.at, zone, Date.now())}: ${number(one.count)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
