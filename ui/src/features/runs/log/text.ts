/** The text of a line as styled pieces; it is never interpreted as HTML. Pure. */
import Anser from "anser";

export interface Piece {
  text: string;
  /** The classes of its colours and weight. */
  style: string;
  href?: string;
  hit?: boolean;
}

/** Longer lines are truncated; the inspector shows them whole. */
export const SHOWN = 4000;

// Escape sequences other than colours: window titles, links.
const OTHER_ESCAPES =
  /\u001b(?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\[[0-9;?]*[A-HJKSTfhlnsu]|[()#][0-9A-B]|[=>78cDEHMNOZ])/g;
// Control and bidirectional characters are replaced by a visible sign.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;
const TURNING = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const URL_PATTERN = /https?:\/\/[^\s<>"'`{}|\\^]+[^\s<>"'`{}|\\^.,;:!?)\]]/g;

export function pieces(line: string, find = ""): Piece[] {
  const cut = line.length > SHOWN ? line.slice(0, SHOWN) : line;
  const plain = cut
    .replace(OTHER_ESCAPES, "")
    .replace(HIDDEN, (sign) => String.fromCharCode(sign === "\u007f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)))
    .replace(TURNING, "\u241b");
  const coloured = plain.includes("\u001b")
    ? Anser.ansiToJson(plain, { use_classes: true, remove_empty: true, json: true }).map((entry) => ({
        text: entry.content,
        style: styleOf(entry),
      }))
    : [{ text: plain, style: "" }];
  return coloured.flatMap(linked).flatMap((piece) => found(piece, find));
}

function styleOf(entry: Anser.AnserJsonEntry): string {
  const decorations = (entry.decorations ?? []) as string[];
  return [entry.fg, entry.bg && `${entry.bg}-bg`, ...decorations.map((name) => `ansi-${name}`)]
    .filter(Boolean)
    .join(" ");
}

function linked(piece: Piece): Piece[] {
  return split(
    piece,
    [...piece.text.matchAll(URL_PATTERN)].map((match) => [match.index, match[0].length]),
    (text) => ({ ...piece, text, href: text }),
  );
}

function found(piece: Piece, find: string): Piece[] {
  if (!find) return [piece];
  const [text, wanted] = [piece.text.toLowerCase(), find.toLowerCase()];
  const hits: [number, number][] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length))
    hits.push([at, wanted.length]);
  return split(piece, hits, (part) => ({ ...piece, text: part, hit: true }));
}

function split(piece: Piece, spans: readonly (readonly [number, number])[], mark: (text: string) => Piece): Piece[] {
  const made: Piece[] = [];
  let from = 0;
  for (const [at, length] of spans) {
    if (at > from) made.push({ ...piece, text: piece.text.slice(from, at) });
    made.push(mark(piece.text.slice(at, at + length)));
    from = at + length;
  }
  if (from < piece.text.length) made.push({ ...piece, text: piece.text.slice(from) });
  return made;
}
