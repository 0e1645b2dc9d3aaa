import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { copyText } from "./copy/clipboard";
import { cx } from "./cx";
import { Link } from "./Link";

/** run_01a1…0ef9e9: the middle is cut out, the whole is on hover and in the clipboard. */
export const shortId = (id: string): string => (id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`);

/** An id; its copy button appears on hover, or always with `shown`. */
export function Id({ id, to, shown }: { id: string; to?: string; shown?: boolean }) {
  const [copied, setCopied] = useState(false);
  const text = <span className="font-mono text-xs">{shortId(id)}</span>;
  return (
    <span className="group/id inline-flex items-center gap-1 whitespace-nowrap" title={id}>
      {to ? (
        <Link to={to} className="hover:underline">
          {text}
        </Link>
      ) : (
        text
      )}
      <button
        type="button"
        aria-label={`Copy ${id}`}
        className={cx(
          "rounded-sm p-0.5 text-muted hover:text-ink",
          !shown && "opacity-0 focus-visible:opacity-100 group-hover/id:opacity-100",
        )}
        onClick={(event) => {
          event.preventDefault();
          event.stopPropagation();
          void copyText(id).then((done) => {
            setCopied(done);
            window.setTimeout(() => setCopied(false), 1200);
          });
        }}
      >
        {copied ? <Check size={12} /> : <Copy size={12} />}
      </button>
    </span>
  );
}
