import { Button } from "@/parts/Button";
import { ErrorCard } from "@/parts/ErrorCard";
import { Go } from "@/parts/Go";
import { Skeleton } from "@/parts/Skeleton";

import { Band } from "./Band";
import { Controls } from "./Controls";
import { over, useBulkObject } from "./useBulkObject";

/** A bulk action that was just begun, inside the dialog that began it. */
export function Going({ id, onClose }: { id: string; onClose: () => void }) {
  const { data: bulk, error } = useBulkObject(id);
  if (!bulk) return error ? <ErrorCard error={error} /> : <Skeleton className="h-8 w-full" />;
  return (
    <div className="flex flex-col gap-4">
      <Band bulk={bulk} />
      {bulk.reason ? <p className="text-sm text-attention-ink">{bulk.reason}</p> : null}
      <div className="flex items-center justify-end gap-2">
        <Go to={`/bulk/${bulk.id}`} className="mr-auto text-sm text-accent hover:underline">
          Details
        </Go>
        <Controls bulk={bulk} />
        <Button kind={over(bulk) ? "primary" : "plain"} onClick={onClose}>
          {over(bulk) ? "Done" : "Close, it goes on"}
        </Button>
      </div>
    </div>
  );
}
