export interface Parsed<T> {
  value?: T;
  error?: string;
}

/** Parses typed JSON; the error names line and column. Empty text is undefined. */
export function parseJson(text: string): Parsed<unknown> {
  if (!text.trim()) return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const found = /position (\d+)/.exec(message);
    if (!found) return { error: `Invalid JSON: ${message}` };
    const before = text.slice(0, Number(found[1])).split("\n");
    return { error: `Invalid JSON: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}` };
  }
}

/** The same, but it must be an object. */
export function parseObject(text: string): Parsed<Record<string, unknown>> {
  const read = parseJson(text);
  if (read.error) return { error: read.error };
  if (read.value === undefined) return { value: {} };
  if (typeof read.value !== "object" || read.value === null || Array.isArray(read.value))
    return { error: "Must be a JSON object: { … }" };
  return { value: read.value as Record<string, unknown> };
}
