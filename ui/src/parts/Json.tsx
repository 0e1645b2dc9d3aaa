import { useState } from "react";

import { bytes } from "@/time/format";

import { Button } from "./Button";
import { CopyButton } from "./copy/CopyButton";
import { downloadText } from "./copy/download";

/** Larger values are truncated until "Show more" is pressed. */
const FIRST = 64 * 1024;
const MOST = 2 * 1024 * 1024;

/** A value as JSON, to read and to copy. */
export function Json({ value, name = "value" }: { value: unknown; name?: string }) {
  const [all, setAll] = useState(false);
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text === undefined) return <p className="text-muted">Nothing.</p>;
  const most = all ? MOST : FIRST;
  const cut = text.length > most;
  return (
    <div className="relative">
      <div className="absolute top-2 right-2 flex gap-1">
        <CopyButton size="small" text={text} />
      </div>
      <pre
        tabIndex={0}
        className="max-h-[60vh] overflow-auto rounded-lg border bg-surface p-3 pr-12 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {cut ? text.slice(0, most) : text}
      </pre>
      {cut ? (
        <p className="mt-2 flex flex-wrap items-center gap-2 text-xs text-muted">
          The first {bytes(most)} of {bytes(text.length)}.
          {all ? null : (
            <Button size="small" onClick={() => setAll(true)}>
              Show more
            </Button>
          )}
          <Button size="small" onClick={() => downloadText(text, `${name}.json`)}>
            Download
          </Button>
        </p>
      ) : null}
    </div>
  );
}
