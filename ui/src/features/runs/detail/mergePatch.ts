/** The JSON merge patch (RFC 7396) that turns `before` into `after`. */
export function mergePatchOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    patch[name] = isObject(old) && isObject(value) ? mergePatchOf(old, value) : value;
  }
  return patch;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
