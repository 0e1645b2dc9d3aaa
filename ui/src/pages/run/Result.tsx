import type { Run } from "@/api/calls";
import { Empty } from "@/parts/Empty";
import { Json } from "@/parts/Json";
import { bytes } from "@/time/format";
import { FINAL } from "@/words/states";

import { cutOf } from "./cut";

/** What came back. A result that is too large to keep is known by its size and its beginning, and the page says so. */
export function Result({ run }: { run: Run }) {
  if (run.result === null)
    return <Empty title="No result">{FINAL.has(run.state) ? "It ended without one." : "It has not ended yet."}</Empty>;
  const cut = cutOf(run.result);
  if (!cut) return <Json value={run.result} name={`${run.id}-result`} />;
  return (
    <div className="flex flex-col gap-3">
      <p role="note" className="rounded-lg border border-attention/50 bg-attention-tint px-3 py-2 text-attention-ink">
        The result was cut: it had {bytes(cut.bytes)}, which is too large to keep. Below are its first{" "}
        {bytes(cut.start.length)}; the rest is gone. What is so large belongs into a file or a table, with the result
        saying where.
      </p>
      <Json value={cut.start} name={`${run.id}-result-beginning`} />
    </div>
  );
}
