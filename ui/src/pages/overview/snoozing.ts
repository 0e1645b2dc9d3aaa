/** What somebody does not want to see for a while, on this machine only. */
const KEY = "foliot.snoozed";
const SPAN = 4 * 3_600_000;

function read(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

export function silenced(now: number): ReadonlySet<string> {
  return new Set(Object.entries(read()).flatMap(([id, until]) => (until > now ? [id] : [])));
}

export function silence(id: string, now: number): void {
  const kept = Object.entries(read()).filter(([, until]) => until > now);
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...Object.fromEntries(kept), [id]: now + SPAN }));
  } catch {
    // Without storage nothing can be kept quiet.
  }
}
