import { fromWall, wall } from "./zone";

const two = (value: number): string => String(value).padStart(2, "0");

/** An instant as the value of an `<input type="datetime-local">`, on the clock of a zone. */
export function inputOf(at: string | null, zone: string): string {
  if (!at) return "";
  const { year, month, day, hour, minute, second } = wall(Date.parse(at), zone);
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}${second ? `:${two(second)}` : ""}`;
}

/** The instant of such a value; undefined when it is empty or incomplete. */
export function instantOf(input: string, zone: string): string | undefined {
  const found = /^(\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?/.exec(input);
  if (!found) return undefined;
  const [year, month, day, hour, minute] = found.slice(1, 6).map(Number) as [number, number, number, number, number];
  const at = fromWall(zone, year, month, day, hour, minute) + Number(found[6] ?? 0) * 1000;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
