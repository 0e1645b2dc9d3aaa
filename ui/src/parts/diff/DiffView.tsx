import { number } from "@/time/moment";

import type { DiffHunk, Piece } from "./diff";

/** Unchanged lines that are shown on either side of a change. */
const AROUND = 2;

/** A diff: changed words marked, unchanged lines cut to those around them. */
export function DiffView({ all }: { all: readonly DiffHunk[] }) {
  return all.map((hunk, index) =>
    hunk.changed ? (
      <p key={index} className="whitespace-pre-wrap">
        {hunk.pieces.map((piece, place) => (
          <DiffText key={place} {...piece} />
        ))}
      </p>
    ) : (
      <UnchangedLines key={index} lines={hunk.lines} first={index === 0} last={index === all.length - 1} />
    ),
  );
}

/** Unchanged lines, cut to the context of the changes around them. */
function UnchangedLines({ lines, first, last }: { lines: readonly string[]; first: boolean; last: boolean }) {
  const head = first ? 0 : AROUND;
  const tail = last ? 0 : AROUND;
  const hidden = lines.length - head - tail;
  if (hidden < 2) return <p className="whitespace-pre-wrap text-muted">{lines.join("\n")}</p>;
  return (
    <>
      {head ? <p className="whitespace-pre-wrap text-muted">{lines.slice(0, head).join("\n")}</p> : null}
      <p className="text-xs text-muted">… {number(hidden)} unchanged lines</p>
      {tail ? <p className="whitespace-pre-wrap text-muted">{lines.slice(-tail).join("\n")}</p> : null}
    </>
  );
}

/** Rendered as text only: it may come from a foreign web page. */
export function DiffText({ fate, text }: Piece) {
  if (fate === "same") return text;
  if (fate === "gone")
    return (
      <del className="bg-failed-tint text-failed-ink line-through">
        <span className="sr-only"> removed: </span>
        {text}
      </del>
    );
  return (
    <ins className="bg-success-tint text-success-ink underline">
      <span className="sr-only"> added: </span>
      {text}
    </ins>
  );
}
