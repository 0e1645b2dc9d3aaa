import type { BulkAction } from "@/api/schema";
import { short } from "@/time/moment";

const TEXTS: Record<string, string> = {
  now: "current settings",
  then: "settings at failure",
  missing: "missing or failed",
  all: "all",
};
const LABELS: Record<string, string> = {
  as_of: "Settings",
  canary: "Canary",
  patch: "Edit",
  add_tags: "Tags added",
  remove_tags: "Tags removed",
  which: "Scheduled times",
  extract: "Extractor",
  fields: "Fields",
  pipeline: "Pipeline",
};
/** Shown elsewhere on the page. */
const ELSEWHERE = new Set(["schedule_id", "schedule_name", "from", "to"]);

/** The further parameters of a bulk action, as people read them. */
export function detailsOf(details: BulkAction["details"], zone: string, now: number): [name: string, text: string][] {
  if (!details) return [];
  const { from, to } = details;
  const period: [string, string][] =
    typeof from === "string" && typeof to === "string"
      ? [["Period", `${short(from, zone, now)} to ${short(to, zone, now)}`]]
      : [];
  const rest = Object.entries(details)
    .filter(([name]) => !ELSEWHERE.has(name))
    .map(([name, value]): [string, string] => [
      LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " "),
      textOf(name, value),
    ])
    .filter(([, text]) => text !== "");
  return [...period, ...rest];
}

function textOf(name: string, value: unknown): string {
  if (name === "canary") return `${String(value)} sent first; the others follow if they succeed`;
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "string") return TEXTS[value] ?? value;
  return JSON.stringify(value);
}
