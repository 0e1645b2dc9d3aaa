/** Values of fields as people read them. */

import type { WatchPlotDetail } from "@/api/schema";

const MOST = 120;

/** `24.90 EUR`, a list as words, nothing for null. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return cut(value.map(String).join(", "));
  if (typeof value === "object") {
    const { amount, currency } = value as { amount?: string; currency?: string | null };
    return `${amount ?? ""} ${currency ?? ""}`.trim();
  }
  return cut(typeof value === "string" ? value : String(value as number | boolean));
}

const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text);

/** What a change did to each field: `price: 29.90 EUR → 24.90 EUR`. */
export const shownFields = (fields: Record<string, Record<string, unknown>>): string[] =>
  Object.entries(fields).map(([name, both]) => `${name}: ${shownValue(both.old)} → ${shownValue(both.new)}`);

/** The path of a URL, which is what pages of one host differ in. */
export function shortUrl(url: string): string {
  try {
    const { host, pathname, search } = new URL(url);
    return pathname === "/" && !search ? host : `${host}${pathname}${search}`;
  } catch {
    return url;
  }
}

/** Short names of URLs: paths alone where all of them have one host. */
export function shortNames(urls: readonly string[]): (url: string) => string {
  const hosts = new Set(urls.map((url) => (URL.canParse(url) ? new URL(url).host : url)));
  const [host = ""] = hosts;
  return (url) => {
    const name = shortUrl(url);
    return hosts.size === 1 && urls.length > 1 && name.length > host.length ? name.slice(host.length) : name;
  };
}

export interface Line {
  label: string;
  points: { at: number; value: number | null }[];
}

/** Lines of a plot; the last value stands until the page was last read. */
export function linesOf(plot: WatchPlotDetail): Line[] {
  const named = shortNames(plot.pages.map((page) => page.url));
  return plot.pages
    .map((page) => {
      const points = page.points.map(({ at, value }) => ({ at: new Date(at).getTime(), value }));
      const [last, until] = [points.at(-1), page.until ? new Date(page.until).getTime() : 0];
      if (last && until > last.at) points.push({ at: until, value: last.value });
      return { label: named(page.url), points };
    })
    .filter((line) => line.points.some((point) => point.value !== null));
}

/** A message of a stored problem. */
export const problemText = (problem: Record<string, unknown> | null): string =>
  typeof problem?.message === "string" ? problem.message : "";
