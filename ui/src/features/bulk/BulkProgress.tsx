import { Button } from "@/parts/Button";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Skeleton } from "@/parts/Skeleton";

import { Controls } from "./Controls";
import { ProgressBar } from "./ProgressBar";
import { isOver, useBulk } from "./useBulk";

/** The progress of a bulk action, inside the dialog that started it. */
export function BulkProgress({ id, onClose }: { id: string; onClose: () => void }) {
  const { data: bulk, error } = useBulk(id);
  if (!bulk) return error ? <ErrorCard error={error} /> : <Skeleton className="h-8 w-full" />;
  return (
    <div className="flex flex-col gap-4">
      <ProgressBar bulk={bulk} />
      {bulk.reason ? <p className="text-sm text-attention-ink">{bulk.reason}</p> : null}
      <div className="flex items-center justify-end gap-2">
        <Link to={`/bulk/${bulk.id}`} className="mr-auto text-sm text-accent hover:underline">
          Details
        </Link>
        <Controls bulk={bulk} />
        <Button kind={isOver(bulk) ? "primary" : "plain"} onClick={onClose}>
          {isOver(bulk) ? "Done" : "Close (continues in background)"}
        </Button>
      </div>
    </div>
  );
}
