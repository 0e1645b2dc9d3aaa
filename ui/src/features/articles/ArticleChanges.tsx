import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { number } from "@/time/moment";

import { type DiffHunk, diffLines, type Piece } from "./diff";

/** Unchanged lines that are shown on either side of a change. */
const AROUND = 2;

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

function DiffView({ all }: { all: readonly DiffHunk[] }) {
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

/** Rendered as text only: it comes from a foreign web page. */
function DiffText({ fate, text }: Piece) {
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
