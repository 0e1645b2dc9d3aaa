export interface FieldChange {
  field: string;
  before: string;
  after: string;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => {
  if (value === undefined || value === null || value === "") return "none";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
};

/** The fields that differ between two documents. */
export function fieldChanges(before: unknown, after: unknown, path = ""): FieldChange[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => fieldChanges(before[name], after[name], path ? `${path}.${name}` : name));
  }
  if (!path) return isObject(after) ? fieldChanges({}, after) : [];
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [{ field: path, before: shown(before), after: shown(after) }];
}
