/** Filters that somebody keeps under a name. Pure. */
export interface View {
  name: string;
  q: string;
}

/** Each has a number that the server counts again and again, so there cannot be very many. */
export const MOST_VIEWS = 12;
export const LONGEST_NAME = 40;

/** What was kept, without what is no view: it comes from the browser's storage, where anything may stand. */
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
export function badName(views: readonly View[], name: string, taken: readonly string[], but?: string): string | null {
  const given = name.trim();
  if (!given) return "Give it a name";
  if (given.length > LONGEST_NAME) return `At most ${LONGEST_NAME} characters`;
  const same = (one: string): boolean => one.toLowerCase() === given.toLowerCase();
  if (taken.some(same) || views.some((one) => one.name !== but && same(one.name)))
    return `There is a view “${given}” already`;
  if (but === undefined && views.length >= MOST_VIEWS) return `At most ${MOST_VIEWS} views: remove one first`;
  return null;
}

export const withView = (views: readonly View[], name: string, q: string): View[] => [
  ...views,
  { name: name.trim(), q },
];

export const renamed = (views: readonly View[], from: string, to: string): View[] =>
  views.map((one) => (one.name === from ? { ...one, name: to.trim() } : one));

export const without = (views: readonly View[], name: string): View[] => views.filter((one) => one.name !== name);
