import type { Run } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { Json } from "@/parts/Json";
import { FINAL } from "@/parts/state/states";
import { bytes } from "@/time/format";

import { truncatedOf } from "./truncatedResult";

/** The result of a run. Of one that was too large to store, only the size and the beginning are known. */
export function Result({ run }: { run: Run }) {
  if (run.result === null)
    return <Empty title="No result">{FINAL.has(run.state) ? "It ended without one." : "It has not ended yet."}</Empty>;
  const cut = truncatedOf(run.result);
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
