import { useZone } from "@/prefs";
import { clock, day, exact, mark, millis, relative } from "@/time/moment";
import { useNow } from "@/time/useNow";
import { city } from "@/time/zone";

/**
 * The next fires in the schedule's zone, and in the viewer's when that differs. The first one counts down; a skipped
 * one is struck through.
 */
export function FireTable({
  fires,
  zone,
  skips,
}: {
  fires: readonly { at: string }[];
  zone: string;
  skips?: { at: string; by: string | null } | null;
}) {
  const viewer = useZone();
  const now = useNow();
  const skipped = (fire: { at: string }): boolean =>
    skips !== null && skips !== undefined && millis(skips.at) === millis(fire.at);
  if (!fires.length) return <p className="text-muted">No further runs.</p>;
  const seconds = fires.some((fire) => millis(fire.at) % 60_000);
  const precision = seconds ? "second" : "minute";
  const both = fires.some((fire) => clock(fire.at, zone) !== clock(fire.at, viewer));
  return (
    <table className="w-full text-left">
      <thead className="text-xs text-muted">
        <tr>
          <th className="w-7 py-1 font-medium">
            <span className="sr-only">Number</span>
          </th>
          <th className="py-1 font-medium">{city(zone)}</th>
          {both ? <th className="py-1 font-medium">For you ({mark(millis(fires[0]?.at ?? now), viewer)})</th> : null}
          <th className="py-1 text-right font-medium">From now</th>
        </tr>
      </thead>
      <tbody>
        {fires.map((fire, index) => (
          <tr key={fire.at} title={exact(fire.at, now)} className="border-t border-line/70">
            <td className="py-1 text-muted">{index + 1}</td>
            <td className="py-1 pr-3 whitespace-nowrap">
              <span className={skipped(fire) ? "text-muted line-through" : undefined}>
                {day(fire.at, zone, now)} <span className="font-medium">{clock(fire.at, zone, precision)}</span>
              </span>{" "}
              <span className="text-muted">{mark(millis(fire.at), zone)}</span>
            </td>
            {both ? (
              <td className="py-1 pr-3 whitespace-nowrap">
                {day(fire.at, viewer, now) === day(fire.at, zone, now)
                  ? ""
                  : `${day(fire.at, viewer, now).split(" ")[0]} `}
                {clock(fire.at, viewer, precision)}
              </td>
            ) : null}
            <td className="py-1 text-right whitespace-nowrap text-muted">
              {skipped(fire) ? `skipped by ${skips?.by ?? "a user"}` : relative(fire.at, now)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
