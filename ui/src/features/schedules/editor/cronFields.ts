/**
 * The inputs of the cron builder and the expressions that they can represent. The server decides what an expression
 * means; `custom` is an expression that the builder cannot represent.
 */
export type Frequency = "minutes" | "hourly" | "hours" | "daily" | "weekly" | "monthly" | "nth" | "custom";

export interface CronFields {
  often: Frequency;
  /** Of `minutes` and `hours`. */
  every: number;
  minute: number;
  hour: number;
  /** 0 is Sunday. Of `weekly`; of `minutes` and `hourly` the days they are kept to, none meaning all. */
  days: number[];
  /** Of `monthly`; -1 is the last one. */
  monthday: number;
  /** Of `nth`: 1 to 4, or -1 for the last. */
  nth: number;
  weekday: number;
  /** Of `minutes` and `hourly`: only from this hour up to that one. */
  between: [number, number] | null;
}

export const DEFAULT_FIELDS: CronFields = {
  often: "daily",
  every: 15,
  minute: 0,
  hour: 9,
  days: [],
  monthday: 1,
  nth: 1,
  weekday: 1,
  between: null,
};

export const FREQUENCIES: readonly { value: Frequency; label: string }[] = [
  { value: "minutes", label: "Every few minutes" },
  { value: "hourly", label: "Every hour" },
  { value: "hours", label: "Every few hours" },
  { value: "daily", label: "Every day" },
  { value: "weekly", label: "Weekly" },
  { value: "monthly", label: "Monthly, by date" },
  { value: "nth", label: "Monthly, by weekday" },
  { value: "custom", label: "Custom cron" },
];

/** Steps that divide the hour or the day evenly: others would be irregular at its end. */
export const MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] as const;
export const HOURS = [2, 3, 4, 6, 8, 12] as const;

export const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
/** Weekdays in the order of display, Monday first. */
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const;

export function cronOf(fields: CronFields): string {
  const { often, every, minute, hour, between, days } = fields;
  const kept = daysText(days);
  switch (often) {
    case "minutes":
      return `${every === 1 ? "*" : `*/${every}`} ${between ? hoursText(between[0], between[1] - 1) : "*"} * * ${kept}`;
    case "hourly":
      return `${minute} ${between ? hoursText(between[0], between[1]) : "*"} * * ${kept}`;
    case "hours":
      return `${minute} */${every} * * *`;
    case "weekly":
      return `${minute} ${hour} * * ${kept}`;
    case "monthly":
      return `${minute} ${hour} ${fields.monthday === -1 ? "L" : fields.monthday} * *`;
    case "nth":
      return `${minute} ${hour} * * ${fields.nth === -1 ? `${fields.weekday}L` : `${fields.weekday}#${fields.nth}`}`;
    default:
      return `${minute} ${hour} * * *`;
  }
}

const hoursText = (from: number, to: number): string => (from === to ? String(from) : `${from}-${to}`);

function daysText(days: readonly number[]): string {
  const sorted = [...new Set(days)].sort((one, other) => one - other);
  if (sorted.length === 0 || sorted.length === 7) return "*";
  return sorted.join() === "1,2,3,4,5" ? "1-5" : sorted.join();
}

const whole = (text: string, low: number, high: number): number | null => {
  if (!/^\d{1,2}$/.test(text)) return null;
  const number = Number(text);
  return number >= low && number <= high ? number : null;
};

function readDays(text: string): number[] | null {
  if (text === "*") return [];
  const found: number[] = [];
  for (const part of text.split(",")) {
    const range = /^(\d)-(\d)$/.exec(part);
    const [from, to] = range ? [Number(range[1]), Number(range[2])] : [whole(part, 0, 7), whole(part, 0, 7)];
    if (from === null || to === null || from > to || to > 7) return null;
    for (let one = from; one <= to; one += 1) found.push(one % 7);
  }
  return [...new Set(found)].sort((one, other) => one - other);
}

function readHours(text: string): [number, number] | "all" | null {
  if (text === "*") return "all";
  const [from, to, more] = text.split("-");
  const [low, high] = [whole(from ?? "", 0, 23), whole(to ?? from ?? "", 0, 23)];
  return more === undefined && low !== null && high !== null && low <= high ? [low, high] : null;
}

/** The inputs that represent this expression; `custom` when none do. */
export function fieldsOf(cron: string): CronFields {
  return readFields(cron.trim().split(/\s+/)) ?? { ...DEFAULT_FIELDS, often: "custom" };
}

function readFields(parts: readonly string[]): CronFields | null {
  const [minutes, hours, monthday, month, weekday, more] = parts;
  if (
    minutes === undefined ||
    hours === undefined ||
    monthday === undefined ||
    month !== "*" ||
    weekday === undefined ||
    more !== undefined
  )
    return null;
  const [minute, hour] = [whole(minutes, 0, 59), whole(hours, 0, 23)];
  const step = minutes === "*" ? 1 : Number(/^\*\/(\d{1,2})$/.exec(minutes)?.[1] ?? Number.NaN);
  const kept = readDays(weekday);
  if (monthday === "*" && kept && MINUTES.some((minute) => minute === step)) {
    const span = readHours(hours);
    return span
      ? {
          ...DEFAULT_FIELDS,
          often: "minutes",
          every: step,
          days: kept,
          between: span === "all" ? null : [span[0], span[1] + 1],
        }
      : null;
  }
  if (minute === null) return null;
  const hourly = Number(/^\*\/(\d{1,2})$/.exec(hours)?.[1] ?? Number.NaN);
  if (monthday === "*" && weekday === "*" && HOURS.some((hour) => hour === hourly))
    return { ...DEFAULT_FIELDS, often: "hours", every: hourly, minute };
  if (monthday === "*" && kept && (hours === "*" || hours.includes("-"))) {
    const span = readHours(hours);
    return span
      ? { ...DEFAULT_FIELDS, often: "hourly", minute, days: kept, between: span === "all" ? null : span }
      : null;
  }
  if (hour === null) return null;
  const at = { ...DEFAULT_FIELDS, minute, hour };
  if (monthday === "*") {
    const nth = /^([0-6])(?:#([1-4])|L)$/.exec(weekday);
    if (nth) return { ...at, often: "nth", weekday: Number(nth[1]), nth: nth[2] ? Number(nth[2]) : -1 };
    if (!kept) return null;
    return kept.length ? { ...at, often: "weekly", days: kept } : { ...at, often: "daily" };
  }
  const day = monthday === "L" ? -1 : whole(monthday, 1, 31);
  return weekday === "*" && day !== null ? { ...at, often: "monthly", monthday: day } : null;
}

const two = (value: number): string => String(value).padStart(2, "0");
const ORDINALS: Record<number, string> = { 1: "first", 2: "second", 3: "third", 4: "fourth", [-1]: "last" };

const ordinal = (day: number): string =>
  `${day}${day % 10 === 1 && day !== 11 ? "st" : day % 10 === 2 && day !== 12 ? "nd" : day % 10 === 3 && day !== 13 ? "rd" : "th"}`;

function dayWords(days: readonly number[]): string {
  const sorted = WEEK.filter((one) => days.includes(one));
  if (sorted.join() === "1,2,3,4,5") return "weekdays";
  const names = sorted.map((one) => (WEEKDAYS[one] ?? "").toLowerCase());
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** The natural-language phrase for these inputs, which the server can parse; empty for `custom`. */
export function phraseOf(fields: CronFields): string {
  const { often, every, minute, hour, between, days } = fields;
  const at = `at ${two(hour)}:${two(minute)}`;
  const window = between ? ` between ${two(between[0])}:00 and ${two(between[1])}:00` : "";
  const on = days.length && days.length < 7 ? ` on ${dayWords(days)}` : "";
  switch (often) {
    case "minutes":
      return `${every === 1 ? "every minute" : `every ${every} minutes`}${window}${on}`;
    case "hourly":
      return `every hour${minute ? ` at minute ${minute}` : ""}${window}${on}`;
    case "hours":
      return `every ${every} hours${minute ? ` at minute ${minute}` : ""}`;
    case "daily":
      return `every day ${at}`;
    case "weekly":
      return days.length === 0 || days.length === 7
        ? `every day ${at}`
        : dayWords(days) === "weekdays"
          ? `weekdays ${at}`
          : `every ${dayWords(days)} ${at}`;
    case "monthly":
      return `on the ${fields.monthday === -1 ? "last day of the month" : `${ordinal(fields.monthday)} of every month`} ${at}`;
    case "nth":
      return `${ORDINALS[fields.nth] ?? "first"} ${(WEEKDAYS[fields.weekday] ?? "").toLowerCase()} of the month ${at}`;
    default:
      return "";
  }
}

/** Whether both day fields are set: cron combines them with "or", which is often not intended. */
export function joinsDays(cron: string): boolean {
  const parts = cron.trim().split(/\s+/);
  const [monthday, weekday] = parts.length === 6 ? [parts[3], parts[5]] : [parts[2], parts[4]];
  const open = (part: string | undefined): boolean => part === undefined || part.startsWith("*") || part === "?";
  return parts.length >= 5 && !open(monthday) && !open(weekday);
}

const UNITS: readonly [string, number][] = [
  ["days", 86_400],
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
];

/** 5400 seconds are 90 minutes: the largest unit that leaves a whole number. */
export function unitOf(seconds: number): { number: number; unit: string } {
  const [unit, size] = UNITS.find(([, one]) => seconds > 0 && seconds % one === 0) ?? ["seconds", 1];
  return { number: seconds / size, unit };
}

export const secondsOf = (number: number, unit: string): number =>
  Math.round(number * (UNITS.find(([one]) => one === unit)?.[1] ?? 1));
