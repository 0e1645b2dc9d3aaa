/** What a schedule does, as the editor's inputs hold it: plain texts, and back to the document that the server takes. */
import type { Action } from "@/api/calls";

import { parseJson, parseObject } from "./json";

export type Inputs = Record<string, string>;

export interface Doing {
  kind: string;
  inputs: Inputs;
  /** What the document has beyond the inputs: kept as it is. */
  rest: Record<string, unknown>;
}

export interface Written {
  action: Action;
  /** What cannot be sent at all, by the field it belongs to: text that is no JSON. */
  errors: Record<string, string>;
}

const HANDLED: Record<string, readonly string[]> = {
  webhook: ["url", "method", "headers", "body"],
  crawl: ["spider", "project", "start_urls", "depth", "params"],
  articles: ["articles", "max_age_seconds"],
  pipeline: ["pipeline"],
  task: ["task", "parameters"],
  grpc: ["target_service", "target_method", "parameters"],
};

export const blank = (kind: string, echo: string | null): Doing => ({
  kind,
  inputs: { ...BLANKS[kind], ...(kind === "webhook" && echo ? { url: echo, body: '{\n  "hello": "world"\n}' } : {}) },
  rest: {},
});

const BLANKS: Record<string, Inputs> = {
  webhook: { url: "", method: "POST", headers: "", body: "" },
  crawl: { spider: "seo", project: "", start_urls: "", depth: "1", params: "" },
  articles: { articles: "", max_age_seconds: "" },
  pipeline: { pipeline: "" },
  task: { task: "", parameters: "" },
  grpc: { target_service: "", target_method: "", parameters: "" },
};

const pretty = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "object" && Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2);
};
const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The inputs that show this action. */
export function doingOf({ kind, ...config }: Action): Doing {
  const handled = HANDLED[kind];
  if (!handled) return { kind, inputs: { config: JSON.stringify(config, null, 2) }, rest: {} };
  const rest = Object.fromEntries(Object.entries(config).filter(([name]) => !handled.includes(name)));
  const inputs: Inputs = Object.fromEntries(handled.map((name) => [name, text(config[name])]));
  if (kind === "webhook") {
    inputs.headers = Object.entries(isObject(config.headers) ? config.headers : {})
      .map(([name, value]) => `${name}: ${text(value)}`)
      .join("\n");
    inputs.body = config.body === undefined || config.body === null ? "" : JSON.stringify(config.body, null, 2);
  }
  if (kind === "crawl") {
    inputs.start_urls = Array.isArray(config.start_urls) ? config.start_urls.join("\n") : text(config.start_urls);
    inputs.params = pretty(config.params);
  }
  if (kind === "articles")
    inputs.articles = (Array.isArray(config.articles) ? config.articles : []).map(articleLine).join("\n");
  if (kind === "task" || kind === "grpc") inputs.parameters = pretty(config.parameters);
  return { kind, inputs, rest };
}

/** The document for these inputs. What is empty is left out, so that the server's defaults hold. */
export function actionOf({ kind, inputs, rest }: Doing): Written {
  const errors: Record<string, string> = {};
  const at = (name: string): string => (inputs[name] ?? "").trim();
  const object = (name: string): Record<string, unknown> | undefined => {
    const read = parseObject(at(name));
    if (read.error) errors[`action.${name}`] = read.error;
    return at(name) ? read.value : undefined;
  };
  const given = (fields: Record<string, unknown>): Action => {
    const entries = Object.entries({ ...rest, ...fields }).filter(([, value]) => value !== undefined && value !== "");
    return { kind, ...Object.fromEntries(entries) };
  };
  switch (kind) {
    case "webhook": {
      const body = parseJson(at("body"));
      if (body.error) errors["action.body"] = body.error;
      const headers = readHeaders(at("headers"));
      if (headers.error) errors["action.headers"] = headers.error;
      return {
        action: given({ url: at("url"), method: at("method"), headers: headers.value, body: body.value }),
        errors,
      };
    }
    case "crawl":
      return {
        action: given({
          spider: at("spider"),
          project: at("project"),
          start_urls: lines(at("start_urls")),
          depth: number(at("depth")),
          params: object("params"),
        }),
        errors,
      };
    case "articles":
      return {
        action: given({
          articles: lines(at("articles")).map(readArticle),
          max_age_seconds: number(at("max_age_seconds")),
        }),
        errors,
      };
    case "pipeline":
      return { action: given({ pipeline: at("pipeline") }), errors };
    case "task":
      return { action: given({ task: at("task"), parameters: object("parameters") }), errors };
    case "grpc":
      return {
        action: given({
          target_service: at("target_service"),
          target_method: at("target_method"),
          parameters: object("parameters"),
        }),
        errors,
      };
    default: {
      const read = parseObject(at("config"));
      if (read.error) errors.action = read.error;
      return { action: { ...read.value, kind }, errors };
    }
  }
}

const lines = (value: string): string[] =>
  value
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
/** A number, or the text itself: the server says what is wrong with it. */
const number = (value: string): number | string | undefined =>
  value === "" ? undefined : Number.isNaN(Number(value)) ? value : Number(value);

export function readHeaders(value: string): { value?: Record<string, string>; error?: string } {
  const found: Record<string, string> = {};
  for (const [index, line] of value.split("\n").entries()) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    if (colon < 1) return { error: `Line ${index + 1} must be “Name: value”` };
    found[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return { value: Object.keys(found).length ? found : undefined };
}

/** "url", or "url, source, category, priority" as far as somebody writes them. A comma inside a URL has no blank behind it. */
export function readArticle(line: string): Record<string, unknown> {
  const [url, source, category, priority] = line.split(/,\s+|\t/).map((part) => part.trim());
  return Object.fromEntries(
    Object.entries({ url, source, category, priority: number(priority ?? "") }).filter(
      ([, value]) => value !== undefined && value !== "",
    ),
  );
}

export function articleLine(article: unknown): string {
  if (!isObject(article)) return text(article);
  const parts = [
    text(article.url),
    text(article.source),
    text(article.category),
    article.priority === undefined || article.priority === 5 ? "" : text(article.priority),
  ];
  while (parts.length > 1 && parts.at(-1) === "") parts.pop();
  return parts.join(", ");
}
