export interface Read<T> {
  value?: T;
  error?: string;
}

/** JSON as somebody typed it; the error says where. Empty text is nothing. */
export function parseJson(text: string): Read<unknown> {
  if (!text.trim()) return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const found = /position (\d+)/.exec(said);
    if (!found) return { error: `This is not JSON: ${said}` };
    const before = text.slice(0, Number(found[1])).split("\n");
    return { error: `This is not JSON: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}` };
  }
}

/** The same, but it must be an object. */
export function parseObject(text: string): Read<Record<string, unknown>> {
  const read = parseJson(text);
  if (read.error) return { error: read.error };
  if (read.value === undefined) return { value: {} };
  if (typeof read.value !== "object" || read.value === null || Array.isArray(read.value))
    return { error: "This must be an object: { … }" };
  return { value: read.value as Record<string, unknown> };
}
