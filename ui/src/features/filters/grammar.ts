/** The filter grammar, as far as completion needs it. The server decides what is valid. */
export interface Token {
  from: number;
  to: number;
  negated: boolean;
  /** Null for free text. */
  key: string | null;
  /** What follows the colon; of a list (`state:failed,dead`) the part under the caret. */
  value: string;
  /** Where that part begins. */
  valueFrom: number;
}

/** Splits at blanks, except inside quotes. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  const pattern = /(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g;
  for (const match of text.matchAll(pattern)) {
    const [word, from] = [match[0], match.index];
    const negated = word.startsWith("-");
    const body = negated ? word.slice(1) : word;
    const colon = body.startsWith('"') ? -1 : body.indexOf(":");
    const key = colon > 0 ? body.slice(0, colon) : null;
    const valueFrom = from + (negated ? 1 : 0) + (key ? colon + 1 : 0);
    found.push({
      from,
      to: from + word.length,
      negated,
      key,
      value: text.slice(valueFrom, from + word.length),
      valueFrom,
    });
  }
  return found;
}

/** The token under the caret, with the part of its value that is being typed; an empty token between two. */
export function tokenAt(text: string, caret: number): Token {
  const found = tokens(text).find((token) => token.from <= caret && caret <= token.to);
  if (!found) return { from: caret, to: caret, negated: false, key: null, value: "", valueFrom: caret };
  if (!found.key) return { ...found, value: text.slice(found.valueFrom, caret) };
  if (caret < found.valueFrom)
    return { ...found, key: null, value: text.slice(found.from, caret), valueFrom: found.from };
  const from = Math.max(text.lastIndexOf(",", caret - 1) + 1, found.valueFrom);
  const end = text.indexOf(",", caret);
  const to = end === -1 || end > found.to ? found.to : end;
  return { ...found, value: text.slice(from, caret), valueFrom: from, to };
}

/** A value, quoted when it contains a blank, a quote or a comma. */
export const quoteValue = (value: string): string =>
  /[\s",]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value;

/** The text with one token replaced, and the new position of the caret. */
export function replaceToken(text: string, from: number, to: number, by: string): { text: string; caret: number } {
  const after = text.slice(to);
  const gap = after.startsWith(" ") || by.endsWith(":") ? "" : " ";
  return { text: `${text.slice(0, from)}${by}${gap}${after}`, caret: from + by.length + (by.endsWith(":") ? 0 : 1) };
}

/** Sets (or with null removes) one key of a filter, leaving the rest alone. */
export function withKey(text: string, key: string, value: string | null): string {
  const kept = tokens(text)
    .filter((token) => token.key !== key || token.negated)
    .map((token) => text.slice(token.from, token.to));
  if (value) kept.push(`${key}:${value}`);
  return kept.join(" ");
}

export const valueOf = (text: string, key: string): string | null =>
  tokens(text).find((token) => token.key === key && !token.negated)?.value ?? null;
