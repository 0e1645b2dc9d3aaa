/** Zones and clocks. The browser's own tables are used; fire times themselves always come from the server. */

const formats = new Map<string, Intl.DateTimeFormat>();

export function format(zone: string, options: Intl.DateTimeFormatOptions, locale = "en-GB"): Intl.DateTimeFormat {
  const key = `${locale}|${zone}|${JSON.stringify(options)}`;
  let made = formats.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
    formats.set(key, made);
  }
  return made;
}

export function knownZone(zone: string): boolean {
  try {
    format(zone, {});
    return true;
  } catch {
    return false;
  }
}

let browsers: string | undefined;

/** The zone of this machine; read once, for reading it is slow. */
export function browserZone(): string {
  if (browsers === undefined) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    browsers = zone && knownZone(zone) ? zone : "UTC";
  }
  return browsers;
}

export const allZones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC")];

export interface Wall {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

const PARTS: Intl.DateTimeFormatOptions = {
  hourCycle: "h23",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
};

/** The wall-clock time of an instant in a zone. */
export function wall(at: number, zone: string): Wall {
  const made: Record<string, number> = {};
  for (const part of format(zone, PARTS).formatToParts(at)) {
    if (part.type !== "literal") made[part.type] = Number(part.value);
  }
  return made as unknown as Wall;
}

/** The zone's offset from UTC at an instant, in milliseconds. */
export function offset(at: number, zone: string): number {
  const { year, month, day, hour, minute, second } = wall(at, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/** The instant of a wall-clock time; the first one of a repeated hour, the next existing one of a skipped hour. */
export function fromWall(zone: string, year: number, month: number, day: number, hour = 0, minute = 0): number {
  const wanted = Date.UTC(year, month - 1, day, hour, minute);
  const guesses = [wanted - offset(wanted - 86_400_000, zone), wanted - offset(wanted + 86_400_000, zone)];
  const right = guesses.filter((guess) => guess + offset(guess, zone) === wanted);
  return right.length ? Math.min(...right) : Math.max(...guesses);
}

export function startOfDay(at: number, zone: string): number {
  const { year, month, day } = wall(at, zone);
  return fromWall(zone, year, month, day);
}

/** The same wall-clock time `days` later: 23 or 25 hours on when the clocks change. */
export function addDays(at: number, days: number, zone: string): number {
  const { year, month, day, hour, minute } = wall(at, zone);
  return fromWall(zone, year, month, day + days, hour, minute);
}

const NUMERIC = /^(GMT|UTC)?[+-]/;

/** The abbreviation of a zone at an instant: CET, PST, UTC; where there is none, UTC+3. */
export function mark(at: number, zone: string): string {
  for (const locale of ["en-GB", "en-US", "en-AU", "en-CA", "en-IN"]) {
    const name = format(zone, { timeZoneName: "short" }, locale)
      .formatToParts(at)
      .find((part) => part.type === "timeZoneName")?.value;
    if (name && !NUMERIC.test(name)) return name === "GMT" && offset(at, zone) === 0 && zone === "UTC" ? "UTC" : name;
  }
  return offsetMark(at, zone);
}

export function offsetMark(at: number, zone: string): string {
  const minutes = Math.round(offset(at, zone) / 60_000);
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** "Stockholm" of "Europe/Stockholm". */
export const city = (zone: string): string => zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ");
