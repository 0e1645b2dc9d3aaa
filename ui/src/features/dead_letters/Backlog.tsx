import type { FailureGroup, FailureGroupPage } from "@/api/schema";
import { Instant } from "@/parts/Instant";
import { useZone } from "@/prefs";
import { number, short } from "@/time/moment";

const HEIGHT = 56;
const BAR = 10;
/** One shade per group; groups beyond these share the lightest. */
const SHADES = [1, 0.72, 0.5, 0.34, 0.2];

/** The open dead letters: arrivals per hour and group, and their age. */
export function Backlog({ found }: { found: FailureGroupPage }) {
  if (!found.letters) return null;
  return (
    <div className="flex flex-wrap items-start gap-x-10 gap-y-4 rounded-lg border bg-bg px-4 py-3">
      <ArrivalChart groups={found.items} />
      <AgeChart found={found} />
      <p className="flex flex-col gap-1 text-xs text-muted">
        Oldest
        <span className="text-sm text-ink">
          <Instant at={found.oldest_at} />
        </span>
      </p>
    </div>
  );
}

function ArrivalChart({ groups }: { groups: readonly FailureGroup[] }) {
  const zone = useZone();
  const now = Date.now();
  const hours = groups[0]?.arrivals ?? [];
  const sums = hours.map((_, hour) => groups.reduce((sum, group) => sum + (group.arrivals[hour]?.count ?? 0), 0));
  const top = Math.max(...sums, 1);
  const total = sums.reduce((sum, one) => sum + one, 0);
  return (
    <figure className="flex flex-col gap-1">
      <figcaption className="text-xs text-muted">Arrivals per hour, by group</figcaption>
      <svg
        role="img"
        aria-label={`Arrivals per hour: ${number(total)} in the last ${hours.length} hours`}
        width={hours.length * BAR}
        height={HEIGHT}
        className="block"
      >
        {hours.map((hour, index) => {
          let floor = HEIGHT;
          return (
            <g key={hour.at}>
              <title>
                {[
                  `${short(hour.at, zone, now)}: ${number(sums[index] ?? 0)}`,
                  ...groups
                    .filter((group) => group.arrivals[index]?.count)
                    .map((group) => `${number(group.arrivals[index]?.count ?? 0)} × ${group.message}`),
                ].join("\n")}
              </title>
              <rect x={index * BAR} width={BAR - 2} y={0} height={HEIGHT} fill="transparent" />
              {sums[index] ? null : (
                <rect x={index * BAR} width={BAR - 2} y={HEIGHT - 1} height={1} fill="var(--line)" />
              )}
              {groups.map((group, place) => {
                const count = group.arrivals[index]?.count ?? 0;
                if (!count) return null;
                const tall = Math.max((count / top) * HEIGHT, 2);
                floor -= tall;
                return (
                  <rect
                    key={group.fingerprint}
                    data-group={group.fingerprint}
                    x={index * BAR}
                    width={BAR - 2}
                    y={Math.max(floor, 0)}
                    height={tall}
                    fill="var(--dead)"
                    fillOpacity={SHADES[place] ?? SHADES.at(-1)}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function AgeChart({ found }: { found: FailureGroupPage }) {
  const top = Math.max(...found.ages.map((age) => age.count), 1);
  return (
    <figure className="flex flex-col gap-1">
      <figcaption className="text-xs text-muted">Age</figcaption>
      <ul className="flex items-end gap-2" aria-label="Dead letters by age">
        {found.ages.map((age, place) => {
          const younger = found.ages[place - 1]?.up_to_hours ?? null;
          const name = age.up_to_hours === null ? `> ${span(younger ?? 0)}` : `≤ ${span(age.up_to_hours)}`;
          return (
            <li
              key={name}
              title={`${number(age.count)} ${name}`}
              className="flex w-11 flex-col items-center text-[11px] text-muted"
            >
              <span className="text-ink">{age.count ? number(age.count) : ""}</span>
              <span className="flex h-6 w-7 items-end">
                <span
                  className="w-full rounded-sm"
                  style={{
                    height: age.count ? Math.max((age.count / top) * 24, 2) : 1,
                    background: age.count ? "var(--dead)" : "var(--line)",
                  }}
                />
              </span>
              <span>{name}</span>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}

const span = (hours: number): string => (hours < 24 ? `${hours} h` : `${hours / 24} d`);
