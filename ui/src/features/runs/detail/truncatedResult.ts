/** A result of which only the beginning was stored. */
export interface TruncatedResult {
  bytes: number;
  start: string;
}

/** The stub that the server stores for a result that is too large; null for a whole result. */
export function truncatedOf(result: unknown): TruncatedResult | null {
  if (result === null || typeof result !== "object") return null;
  const { truncated, bytes, start, ...rest } = result as Record<string, unknown>;
  const alone = Object.keys(rest).length === 0;
  if (truncated !== true || typeof bytes !== "number" || typeof start !== "string" || !alone) return null;
  return bytes > start.length ? { bytes, start } : null;
}
