/** The text with carets below the part that the server could not parse. */
export function ErrorPointer({ text, position }: { text: string; position?: [number, number] | null }) {
  if (!position) return null;
  const [from, to] = position;
  return (
    <pre aria-hidden className="overflow-x-auto font-mono text-xs leading-tight">
      {text}
      {"\n"}
      {" ".repeat(from)}
      {"^".repeat(Math.max(to - from, 1))}
    </pre>
  );
}
