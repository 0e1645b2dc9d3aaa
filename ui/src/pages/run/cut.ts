/** A result of which only the beginning was kept. */
export interface Cut {
  bytes: number;
  start: string;
}

/** What the server kept instead of a result that was too large; null when it is the result itself. */
export function cutOf(result: unknown): Cut | null {
  if (result === null || typeof result !== "object") return null;
  const { truncated, bytes, start, ...rest } = result as Record<string, unknown>;
  const alone = Object.keys(rest).length === 0;
  if (truncated !== true || typeof bytes !== "number" || typeof start !== "string" || !alone) return null;
  return bytes > start.length ? { bytes, start } : null;
}
