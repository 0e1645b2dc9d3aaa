import type {
  ActionConfig,
  CatchupSettings,
  Following,
  Overlap,
  RetrySettings,
  Schedule,
  ScheduleAlert,
  ScheduleRequest,
} from "@/api/schema";
import { shellQuoted, withDocument } from "@/parts/copy/snippets";
import { inputOf, instantOf } from "@/time/datetimeLocal";

import { LIMITS, type LimitInputs, limitInputs } from "../limits";
import { DEFAULT_RETRY } from "../policies";
import { entriesOf, linesOf } from "../times";
import { type ActionInputs, actionOf, blankAction, inputsOf } from "./action";
import { fieldsOf, phraseOf } from "./cronFields";

export type Type = Schedule["type"];

export interface TriggerInputs {
  type: Type;
  /** Natural language, typed or generated from the other inputs. */
  words: string;
  cron: string;
  seconds: number;
  /** The value of a datetime-local input in the schedule's zone: 2027-01-01T09:00. */
  runAt: string;
  /** Type after: the schedules to follow, by id or name. */
  parents: string[];
  outcome: Following["outcome"];
  all: boolean;
  /** Which input was edited last: natural language has to be parsed by the server, a trigger does not. */
  by: "words" | "trigger";
}

export interface Form {
  /** The schedule that this is a copy of. */
  source?: string;
  name: string;
  description: string;
  tags: string[];
  action: ActionInputs;
  /** The inputs of other kinds, kept while the kind is switched. */
  others: Record<string, ActionInputs>;
  when: TriggerInputs;
  timezone: string;
  overlap: Overlap;
  catchup: CatchupSettings;
  retry: RetrySettings;
  queue: string;
  priority: number;
  limits: LimitInputs;
  /** Channels that are notified of its failures, by name or id, and after how many in a row. */
  alert: ScheduleAlert;
  /** Excluded times, one per line, as `times.ts` reads them. */
  exclude: string;
  only: string;
  shift: NonNullable<ScheduleRequest["shift"]>;
  startAt: string;
  endAt: string;
}

export const DEFAULT_CATCHUP: CatchupSettings = {
  mode: "latest",
  window_seconds: 3600,
  max_runs: 10,
  grace_seconds: 60,
};

const NO_ALERT: ScheduleAlert = { after: 1, to: [] };

const NO_PARENTS = { parents: [] as string[], outcome: "success" as const, all: false };

export function blankForm(kind: string, name: string, words: string, timezone: string, echoUrl: string | null): Form {
  return {
    name,
    description: "",
    tags: [],
    action: blankAction(kind, echoUrl),
    others: {},
    when: { type: "cron", words, cron: "0 9 * * *", seconds: 3600, runAt: "", ...NO_PARENTS, by: "words" },
    timezone,
    overlap: "skip",
    catchup: DEFAULT_CATCHUP,
    retry: DEFAULT_RETRY,
    queue: kind === "crawl" ? "scraping" : "default",
    priority: 5,
    limits: limitInputs(),
    alert: NO_ALERT,
    exclude: "",
    only: "",
    shift: "none",
    startAt: "",
    endAt: "",
  };
}

export function formOf(schedule: Schedule): Form {
  const cron = schedule.cron_expr ?? "0 9 * * *";
  return {
    name: schedule.name,
    description: schedule.description,
    tags: schedule.tags,
    action: inputsOf(schedule.action),
    others: {},
    when: {
      type: schedule.type,
      words: schedule.type === "cron" ? phraseOf(fieldsOf(cron)) : "",
      cron,
      seconds: schedule.interval_seconds ?? 3600,
      runAt: inputOf(schedule.run_at, schedule.timezone),
      parents: schedule.after?.schedule ?? [],
      outcome: schedule.after?.outcome ?? "success",
      all: schedule.after?.all ?? false,
      by: "trigger",
    },
    timezone: schedule.timezone,
    overlap: schedule.overlap,
    catchup: schedule.catchup,
    retry: schedule.retry_policy,
    queue: schedule.queue,
    priority: schedule.priority,
    limits: limitInputs(schedule),
    alert: schedule.alert ?? NO_ALERT,
    exclude: linesOf(schedule.exclude),
    only: linesOf(schedule.only),
    shift: schedule.shift ?? "none",
    startAt: inputOf(schedule.start_at, schedule.timezone),
    endAt: inputOf(schedule.end_at, schedule.timezone),
  };
}

/** The trigger of the request, and of a preview that is not of natural language. */
export function triggerOf(
  when: TriggerInputs,
  timezone: string,
): Pick<ScheduleRequest, "type" | "cron_expr" | "interval_seconds" | "run_at" | "after" | "timezone"> {
  switch (when.type) {
    case "cron":
      return { type: "cron", cron_expr: when.cron, timezone };
    case "interval":
      return { type: "interval", interval_seconds: when.seconds, timezone };
    case "after":
      return { type: "after", after: { schedule: when.parents, outcome: when.outcome, all: when.all }, timezone };
    default:
      return { type: "oneoff", run_at: instantOf(when.runAt, timezone), timezone };
  }
}

/** The times at which it does not run, as fields of a request. */
export const restrictionOf = (form: Form): Pick<ScheduleRequest, "exclude" | "only" | "shift"> => ({
  ...(form.exclude.trim() ? { exclude: entriesOf(form.exclude) } : {}),
  ...(form.only.trim() ? { only: entriesOf(form.only) } : {}),
  ...(form.shift === "none" ? {} : { shift: form.shift }),
});

export interface Document {
  body: ScheduleRequest & { action: ActionConfig };
  errors: Record<string, string>;
}

/** What is no number is sent as it is, for the server to complain. */
const optional = (value: string): number | undefined =>
  value.trim() === "" ? undefined : Number.isNaN(Number(value)) ? (value as unknown as number) : Number(value);

/** The request that creates or replaces the schedule. */
export function documentOf(form: Form): Document {
  const { action, errors } = actionOf(form.action);
  return {
    errors,
    body: {
      name: form.name.trim(),
      ...(form.description.trim() ? { description: form.description.trim() } : {}),
      ...(form.tags.length ? { tags: form.tags } : {}),
      ...triggerOf(form.when, form.timezone),
      action,
      retry_policy: form.retry,
      overlap: form.overlap,
      catchup: form.catchup,
      queue: form.queue.trim() || undefined,
      priority: form.priority,
      ...Object.fromEntries(LIMITS.map(({ name }) => [name, optional(form.limits[name])])),
      ...(form.alert.to.length ? { alert: form.alert } : {}),
      ...restrictionOf(form),
      start_at: instantOf(form.startAt, form.timezone),
      end_at: instantOf(form.endAt, form.timezone),
    },
  };
}

/** Whether the flags of `foliot schedule create` say all of it; else its document is given. */
function hasFlags(form: Form, action: ActionConfig): boolean {
  const known = ["kind", "url", "method", "headers", "body"];
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  return (
    action.kind === "webhook" &&
    Object.keys(action).every((key) => known.includes(key)) &&
    same({ ...form.retry, max_retries: 0 }, { ...DEFAULT_RETRY, max_retries: 0 }) &&
    same({ ...form.catchup, mode: "" }, { ...DEFAULT_CATCHUP, mode: "" }) &&
    !form.limits.max_runs &&
    !form.endAt
  );
}

const lines = (text: string): string[] => text.split("\n").filter((line) => line.trim());

const secondsOf = (value: string): string => (value.trim() ? `${value.trim()}s` : "");

/** The CLI command that creates the schedule. */
export function commandOf(form: Form): string {
  const { body } = documentOf(form);
  const { action } = body;
  if (!hasFlags(form, action)) return withDocument("schedule create --file -", body);
  const trigger = {
    cron: ["--cron", form.when.cron],
    interval: ["--every", `${form.when.seconds}s`],
    oneoff: ["--at", instantOf(form.when.runAt, form.timezone) ?? ""],
    after: [
      ...form.when.parents.flatMap((parent) => ["--after", parent]),
      ...(form.when.outcome && form.when.outcome !== "success" ? ["--outcome", form.when.outcome] : []),
      ...(form.when.all ? ["--all"] : []),
    ],
  }[form.when.type];
  const flags: readonly (readonly [string, string | undefined])[] = [
    ["--timezone", form.timezone],
    ["--url", String(action.url ?? "")],
    ["--method", String(action.method ?? "POST")],
    ...Object.entries((action.headers ?? {}) as Record<string, string>).map(
      ([name, value]) => ["--header", `${name}: ${value}`] as const,
    ),
    ["--body", action.body === undefined ? "" : JSON.stringify(action.body)],
    ...form.tags.map((tag) => ["--tag", tag] as const),
    ["--overlap", form.overlap],
    ["--catchup", form.catchup.mode],
    ["--retries", String(form.retry.max_retries)],
    ["--queue", form.queue],
    ["--priority", String(form.priority)],
    ["--timeout", secondsOf(form.limits.timeout_seconds)],
    ["--jitter", secondsOf(form.limits.jitter_seconds)],
    ["--start-at", instantOf(form.startAt, form.timezone)],
    ["--description", form.description.trim()],
    ...form.alert.to.map((channel) => ["--notify", channel] as const),
    ...lines(form.exclude).map((line) => ["--exclude", line] as const),
    ...lines(form.only).map((line) => ["--only", line] as const),
    ["--shift", form.shift === "none" ? undefined : form.shift],
    ["--notify-after", form.alert.to.length && form.alert.after > 1 ? String(form.alert.after) : undefined],
  ];
  const words = ["schedule", "create", form.name.trim() || "NAME", ...trigger];
  for (const [flag, value] of flags) if (value) words.push(flag, value);
  return words.map(shellQuoted).join(" ");
}
