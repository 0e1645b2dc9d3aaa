import { isObject, numberOf, textOf } from "@/parts/form/actionKind";

/** An article of a line "url" or "url, source, category, priority". A comma inside a URL has no blank behind it. */
export function parseArticleLine(line: string): Record<string, unknown> {
  const [url, source, category, priority] = line.split(/,\s+|\t/).map((part) => part.trim());
  return Object.fromEntries(
    Object.entries({ url, source, category, priority: numberOf(priority ?? "") }).filter(
      ([, value]) => value !== undefined && value !== "",
    ),
  );
}

/** The line of an article; what the server fills in by itself is left out. */
export function articleLineOf(article: unknown): string {
  if (!isObject(article)) return textOf(article);
  const parts = [
    textOf(article.url),
    textOf(article.source),
    textOf(article.category),
    article.priority === undefined || article.priority === 5 ? "" : textOf(article.priority),
  ];
  while (parts.length > 1 && parts.at(-1) === "") parts.pop();
  return parts.join(", ");
}
