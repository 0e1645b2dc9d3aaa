import type { Parsed } from "@/parts/form/json";

/** Headers as they are typed, one per line; undefined when there are none. */
export function parseHeaders(text: string): Parsed<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    if (colon < 1) return { error: `Line ${index + 1} must be “Name: value”` };
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return { value: Object.keys(headers).length ? headers : undefined };
}
