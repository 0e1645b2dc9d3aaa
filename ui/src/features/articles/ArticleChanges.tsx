import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { diffLines } from "@/parts/diff/diff";
import { DiffText, DiffView } from "@/parts/diff/DiffView";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";

/** The difference between the stored and the previous version of an article: title, then text. */
export function ArticleChanges({ job, article }: { job: string; article: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.run(job), "results", "article", article],
    queryFn: ({ signal }) =>
      ask("/jobs/{job_id}/results/{article_id}", { params: { job_id: job, article_id: article }, signal }),
  });
  const [title, text] = useMemo(() => {
    const before = data?.previous;
    if (!data || !before) return [[], []];
    const titles = data.title === before.title ? [] : diffLines(before.title ?? "", data.title ?? "");
    return [titles, diffLines(before.content ?? "", data.content ?? "")];
  }, [data]);
  if (error) return <ErrorCard error={error} what="Could not load the changes" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton className="h-32 w-full" />;
  if (!data.previous) return <p className="text-muted">No changes seen so far.</p>;
  return (
    <div className="flex max-w-[72ch] flex-col gap-3">
      <p className="text-xs text-muted">
        <DiffText fate="gone" text="struck through: removed" /> · <DiffText fate="came" text="underlined: added" />
      </p>
      {title.length ? (
        <div className="text-lg font-medium break-words" role="group" aria-label="Title">
          <DiffView all={title} />
        </div>
      ) : null}
      {text.some((hunk) => hunk.changed) ? (
        <div className="flex flex-col gap-2 text-base break-words" role="group" aria-label="Text">
          <DiffView all={text} />
        </div>
      ) : (
        <p className="text-muted">The text is unchanged.</p>
      )}
    </div>
  );
}
