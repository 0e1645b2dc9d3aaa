import type { Run } from "@/api/schema";
import { Empty } from "@/parts/Empty";
import { Json } from "@/parts/Json";
import { FINAL } from "@/parts/state/states";
import { bytes } from "@/time/format";

import { truncatedOf } from "./truncatedResult";

/** The result of a run. Of one that was too large to store, only the size and the beginning are known. */
export function Result({ run }: { run: Run }) {
  if (run.result === null)
    return (
      <Empty title="No result">
        {FINAL.has(run.state) ? "The run finished without a result." : "The run has not finished yet."}
      </Empty>
    );
  const cut = truncatedOf(run.result);
  if (!cut) return <Json value={run.result} name={`${run.id}-result`} />;
  return (
    <div className="flex flex-col gap-3">
      <p role="note" className="rounded-lg border border-attention/50 bg-attention-tint px-3 py-2 text-attention-ink">
        The result is too large to keep: {bytes(cut.bytes)}. Below is the first {bytes(cut.start.length)}; the rest is
        lost. Write large results to a file or table and return its location.
      </p>
      <Json value={cut.start} name={`${run.id}-result-beginning`} />
    </div>
  );
}
