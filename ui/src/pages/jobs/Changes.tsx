import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { WholeArticle } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { ErrorCard } from "@/parts/ErrorCard";
import { Skeleton } from "@/parts/Skeleton";
import { number } from "@/time/moment";
import { type Piece, type Stretch, stretches } from "@/words/diff";

/** Lines beside a change that are shown as they are. */
const AROUND = 2;

/** What an article says now and did not before, and the other way round: the title first, then the text. */
export function Changes({ job, article }: { job: string; article: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.run(job), "results", "article", article],
    queryFn: ({ signal }) => ask<WholeArticle>(`/jobs/${job}/results/${article}`, { signal }),
  });
  const [title, text] = useMemo(() => {
    const before = data?.previous;
    if (!data || !before) return [[], []];
    const titles = data.title === before.title ? [] : stretches(before.title ?? "", data.title ?? "");
    return [titles, stretches(before.content ?? "", data.content ?? "")];
  }, [data]);
  if (error) return <ErrorCard error={error} what="The changes could not be read" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton className="h-32 w-full" />;
  if (!data.previous) return <p className="text-muted">It was never seen to change.</p>;
  return (
    <div className="flex max-w-[72ch] flex-col gap-3">
      <p className="text-xs text-muted">
        <Told fate="gone" text="struck through: was there" /> · <Told fate="came" text="underlined: is new" />
      </p>
      {title.length ? (
        <div className="text-lg font-medium break-words" role="group" aria-label="Title">
          <Stretches all={title} />
        </div>
      ) : null}
      {text.some((one) => one.changed) ? (
        <div className="flex flex-col gap-2 text-base break-words" role="group" aria-label="Text">
          <Stretches all={text} />
        </div>
      ) : (
        <p className="text-muted">The text is as it was.</p>
      )}
    </div>
  );
}

function Stretches({ all }: { all: readonly Stretch[] }) {
  return all.map((one, index) =>
    one.changed ? (
      <p key={index} className="whitespace-pre-wrap">
        {one.pieces.map((piece, place) => (
          <Told key={place} {...piece} />
        ))}
      </p>
    ) : (
      <Same key={index} lines={one.lines} first={index === 0} last={index === all.length - 1} />
    ),
  );
}

/** Of what stayed, as much as tells where the reader is. */
function Same({ lines, first, last }: { lines: readonly string[]; first: boolean; last: boolean }) {
  const head = first ? 0 : AROUND;
  const tail = last ? 0 : AROUND;
  const hidden = lines.length - head - tail;
  if (hidden < 2) return <p className="whitespace-pre-wrap text-muted">{lines.join("\n")}</p>;
  return (
    <>
      {head ? <p className="whitespace-pre-wrap text-muted">{lines.slice(0, head).join("\n")}</p> : null}
      <p className="text-xs text-muted">… {number(hidden)} lines as before …</p>
      {tail ? <p className="whitespace-pre-wrap text-muted">{lines.slice(-tail).join("\n")}</p> : null}
    </>
  );
}

/** Text and nothing else: it came from somebody's web page. */
function Told({ fate, text }: Piece) {
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
