/** The editor's inputs, and the document that they make. */

import type { Crossing, WatchDetail, WatchRequest } from "@/api/schema";

export type Source = "urls" | "sitemap" | "feed" | "links";
export type Way = "css" | "xpath" | "json" | "regex";
export type Timing = "interval" | "cron" | "revisit";

export const FIELD_TYPES = ["text", "number", "price", "date", "list", "link"] as const;
export const UNITS = { minutes: 60, hours: 3600, days: 86_400 } as const;

export interface FieldInput {
  name: string;
  type: (typeof FIELD_TYPES)[number];
  way: Way;
  selector: string;
  optional: boolean;
}

export interface WatchForm {
  name: string;
  source: Source;
  /** One URL a line. */
  urls: string;
  /** The URL of the sitemap, of the feed, or of the page of links. */
  from: string;
  links: string;
  select: string;
  article: boolean;
  fields: FieldInput[];
  /** One a line: a CSS selector, `xpath: …`, `regex: …`, whitespace, dates or numbers. */
  ignore: string;
  when: string;
  at: Crossing;
  timing: Timing;
  every: number;
  unit: keyof typeof UNITS;
  cron: string;
  timezone: string;
  budget: string;
  atMost: string;
  atLeast: string;
  aim: "prompt" | "fresh";
  render: string;
  keepPages: string;
  tags: string[];
  /** What else its schedule's document says. */
  schedule: Record<string, unknown>;
}

const TRIGGER = ["type", "interval_seconds", "cron_expr", "timezone"];

export const blankForm = (timezone: string): WatchForm => ({
  name: "",
  source: "urls",
  urls: "",
  from: "",
  links: "",
  select: "",
  article: false,
  fields: [],
  ignore: "",
  when: "",
  at: "crossing",
  timing: "interval",
  every: 1,
  unit: "hours",
  cron: "0 * * * *",
  timezone,
  budget: "1000/day",
  atMost: "15m",
  atLeast: "7d",
  aim: "prompt",
  render: "",
  keepPages: "",
  tags: [],
  schedule: {},
});

export function formOf(watch: WatchDetail, timezone: string): WatchForm {
  const blank = blankForm(timezone);
  const schedule = watch.schedule ?? {};
  const revisit = (watch.revisit ?? {}) as Record<string, string>;
  const seconds = Number(schedule.interval_seconds ?? 3600);
  const unit = (["days", "hours", "minutes"] as const).find((one) => seconds % UNITS[one] === 0) ?? "minutes";
  return {
    ...blank,
    name: watch.name,
    source: watch.sitemap ? "sitemap" : watch.feed ? "feed" : watch.links ? "links" : "urls",
    urls: (watch.urls ?? []).join("\n"),
    from: watch.sitemap ?? watch.feed ?? watch.links?.from ?? "",
    links: watch.links?.css ?? "",
    select: watch.select ?? "",
    article: watch.text === "article",
    fields: Object.entries(watch.fields).map(([name, wanted]) => fieldOf(name, wanted as Record<string, unknown>)),
    ignore: watch.ignore.map(ignoredLine).join("\n"),
    when: watch.when ?? "",
    at: watch.at,
    timing: watch.revisit ? "revisit" : schedule.type === "cron" ? "cron" : "interval",
    every: seconds / UNITS[unit],
    unit,
    cron: textOr(schedule.cron_expr, blank.cron),
    timezone: textOr(schedule.timezone, timezone),
    budget: revisit.budget ?? blank.budget,
    atMost: revisit.at_most ?? blank.atMost,
    atLeast: revisit.at_least ?? blank.atLeast,
    aim: revisit.aim === "fresh" ? "fresh" : "prompt",
    render: watch.render ?? "",
    keepPages: watch.keep_pages ?? "",
    tags: watch.tags,
    schedule: Object.fromEntries(Object.entries(schedule).filter(([name]) => !TRIGGER.includes(name))),
  };
}

const textOr = (value: unknown, other: string): string => (typeof value === "string" ? value : other);

function fieldOf(name: string, wanted: Record<string, unknown>): FieldInput {
  const way = (["css", "xpath", "json", "regex"] as const).find((one) => typeof wanted[one] === "string") ?? "css";
  const type = FIELD_TYPES.find((one) => one === wanted.type) ?? "text";
  return { name, type, way, selector: textOr(wanted[way], ""), optional: wanted.optional === true };
}

function ignoredLine(one: unknown): string {
  if (typeof one === "string") return one;
  const [[way, value] = ["", ""]] = Object.entries(one as Record<string, string>);
  return way === "css" ? value : `${way}: ${value}`;
}

function ignoredOf(line: string): unknown {
  const [, way, value] = /^(xpath|regex):\s*(.+)$/.exec(line) ?? [];
  return way && value ? { [way]: value } : line;
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** The document of a watch, without what is empty. */
export function documentOf(form: WatchForm): WatchRequest {
  const fields = Object.fromEntries(
    form.fields
      .filter((field) => field.name)
      .map(({ name, type, way, selector, optional }) => [
        name,
        { type, ...(selector ? { [way]: selector } : {}), ...(optional ? { optional } : {}) },
      ]),
  );
  const ignore = linesOf(form.ignore).map(ignoredOf);
  return {
    name: form.name,
    ...sourceOf(form),
    ...(form.select ? { select: form.select } : {}),
    ...(form.article ? { text: "article" } : {}),
    ...(Object.keys(fields).length ? { fields } : {}),
    ...(ignore.length ? { ignore } : {}),
    ...(form.when.trim() ? { when: form.when.trim() } : {}),
    at: form.at,
    ...timingOf(form),
    ...(form.render ? { render: form.render as WatchRequest["render"] } : {}),
    ...(form.keepPages ? { keep_pages: form.keepPages } : {}),
    tags: form.tags,
  };
}

function sourceOf({ source, urls, from, links }: WatchForm): Partial<WatchRequest> {
  if (source === "urls") return { urls: linesOf(urls) };
  if (source === "links") return { links: { css: links, from } };
  return { [source]: from };
}

function timingOf(form: WatchForm): Partial<WatchRequest> {
  if (form.timing === "revisit")
    return { revisit: { budget: form.budget, at_most: form.atMost, at_least: form.atLeast, aim: form.aim } };
  const rest = form.schedule;
  if (form.timing === "cron")
    return { schedule: { ...rest, type: "cron", cron_expr: form.cron, timezone: form.timezone } };
  return {
    schedule: { ...rest, type: "interval", interval_seconds: Math.round(form.every * UNITS[form.unit]) },
  };
}

const CLEARED = ["select", "text", "fields", "ignore", "when", "render", "keep_pages"] as const;

/** The same as a merge patch: what the form leaves empty is taken away. */
export function patchOf(form: WatchForm): Record<string, unknown> {
  const document = documentOf(form) as unknown as Record<string, unknown>;
  return { ...Object.fromEntries(CLEARED.map((name) => [name, null])), ...document };
}

/** What a preview is asked for; the name and the time are not needed. */
export function previewOf(form: WatchForm): Record<string, unknown> {
  const document = documentOf(form) as unknown as Record<string, unknown>;
  const left = ["name", "schedule", "revisit", "tags", "keep_pages"];
  return Object.fromEntries(Object.entries(document).filter(([name]) => !left.includes(name)));
}

/** The type that a text on a page suggests for a field. */
export function typeOf(text: string): FieldInput["type"] {
  if (/[€$£¥]|\b(EUR|USD|GBP|SEK|CHF)\b/.test(text) && /\d/.test(text)) return "price";
  return /^[-+]?\d[\d .,]*$/.test(text.trim()) ? "number" : "text";
}

/** A free name for a field of this type. */
export function freeName(type: FieldInput["type"], taken: readonly FieldInput[]): string {
  const base = type === "text" ? "title" : type;
  const names = new Set(taken.map((field) => field.name));
  if (!names.has(base)) return base;
  let number = 2;
  while (names.has(`${base}${number}`)) number += 1;
  return `${base}${number}`;
}
