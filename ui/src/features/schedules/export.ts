const MOST_IDS = 200;

/** The address that exports the chosen schedules in the format of `foliot schedule import`. */
export function exportPath(q: string, ids: Iterable<string> | null): string {
  const chosen = ids === null ? null : [...ids];
  if (chosen && chosen.length > MOST_IDS)
    throw new Error(`You can select at most ${MOST_IDS} individually. Select all matching instead.`);
  const query = new URLSearchParams({ format: "yaml", ...(chosen ? { ids: chosen.join(",") } : { q }) });
  return `/api/schedules/export?${query.toString()}`;
}

/** Lets the browser save what the server answers; it is never held in memory. */
export function saveFrom(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
