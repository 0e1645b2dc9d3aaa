import { memo } from "react";

import { pieces, SHOWN } from "./text";

/** The text of a log line with colours, links and search hits; never HTML. */
export const LineText = memo(function LineText({ text, find }: { text: string; find: string }) {
  return (
    <>
      {pieces(text, find).map((piece, index) => {
        const inner = piece.hit ? <mark>{piece.text}</mark> : piece.text;
        if (piece.href) {
          return (
            <a
              key={index}
              href={piece.href}
              target="_blank"
              rel="noreferrer noopener"
              className={`${piece.style} underline decoration-line underline-offset-2 hover:decoration-current`}
            >
              {inner}
            </a>
          );
        }
        return (
          <span key={index} className={piece.style || undefined}>
            {inner}
          </span>
        );
      })}
      {text.length > SHOWN ? (
        <span className="text-muted">
          {" "}
          … {(text.length - SHOWN).toLocaleString("en-US")} more characters – select the line to see them
        </span>
      ) : null}
    </>
  );
});
