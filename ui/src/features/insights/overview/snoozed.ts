/** Snoozed items of the attention card, kept in this browser. */
const KEY = "foliot.snoozed";
const SPAN = 4 * 3_600_000;

function read(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

export function snoozedIds(now: number): ReadonlySet<string> {
  return new Set(Object.entries(read()).flatMap(([id, until]) => (until > now ? [id] : [])));
}

export function snooze(id: string, now: number): void {
  const kept = Object.entries(read()).filter(([, until]) => until > now);
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...Object.fromEntries(kept), [id]: now + SPAN }));
  } catch {
    // Without storage nothing can be snoozed.
  }
}
