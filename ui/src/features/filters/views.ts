/** Saved views: filters with a name, and an order if they have one. Pure. */
export interface View {
  name: string;
  q: string;
  sort?: string | null;
}

/** The server counts the matches of each view repeatedly, so their number is bounded. */
export const MOST_VIEWS = 12;
export const LONGEST_NAME = 40;

/** The stored views; entries that are not views are dropped, for the browser's storage may hold anything. */
export function readViews(text: string | null): View[] {
  try {
    const kept: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(kept)) return [];
    return kept
      .filter(
        (one): one is View =>
          typeof one?.name === "string" && typeof one?.q === "string" && one.name !== "" && one.q !== "",
      )
      .slice(0, MOST_VIEWS)
      .map(({ name, q }) => ({ name: name.slice(0, LONGEST_NAME), q }));
  } catch {
    return [];
  }
}

/** Why a view cannot have this name; null when it can. `but` is the one that is being renamed. */
export function nameError(views: readonly View[], name: string, taken: readonly string[], but?: string): string | null {
  const given = name.trim();
  if (!given) return "Enter a name";
  if (given.length > LONGEST_NAME) return `At most ${LONGEST_NAME} characters`;
  const same = (one: string): boolean => one.toLowerCase() === given.toLowerCase();
  if (taken.some(same) || views.some((view) => view.name !== but && same(view.name)))
    return `A view named “${given}” already exists`;
  if (but === undefined && views.length >= MOST_VIEWS) return `At most ${MOST_VIEWS} views. Remove one first`;
  return null;
}
