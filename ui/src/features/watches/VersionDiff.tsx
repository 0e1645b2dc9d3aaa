import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { PageVersionDetail } from "@/api/schema";
import { type DiffHunk, diffLines } from "@/parts/diff/diff";
import { DiffText, DiffView } from "@/parts/diff/DiffView";
import { Instant } from "@/parts/Instant";

import { shownValue } from "./values";

interface Versions {
  watch: string;
  page: string;
  before: PageVersionDetail;
  after: PageVersionDetail;
  side: boolean;
}

/** What differs between two versions: the fields, and the text where it is kept. */
export function VersionDiff({ watch, page, before, after, side }: Versions) {
  const old = useText(watch, page, before);
  const now = useText(watch, page, after);
  const hunks = useMemo(
    () => (old === undefined || now === undefined ? null : diffLines(old ?? "", now ?? "")),
    [old, now],
  );
  const names = [...new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])];
  const text = before.has_text || after.has_text;
  return (
    <div className="flex flex-col gap-4 text-sm">
      {names.length ? (
        <table className="w-full text-left">
          <thead className="text-xs text-muted">
            <tr>
              <th className="pr-4 font-normal">Field</th>
              <th className="pr-4 font-normal">
                <Instant at={before.at} />
              </th>
              <th className="font-normal">
                <Instant at={after.at} />
              </th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => {
              const [was, is] = [shownValue(before.fields[name]), shownValue(after.fields[name])];
              return (
                <tr key={name} className="border-t align-top">
                  <td className="py-1 pr-4 font-medium">{name}</td>
                  <td className="pr-4 break-words">{was === is ? was : <DiffText fate="gone" text={was} />}</td>
                  <td className="break-words">{was === is ? is : <DiffText fate="came" text={is} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      ) : null}
      {text && hunks ? (
        <div tabIndex={0} aria-label="Text" className="max-h-[60vh] overflow-auto rounded border p-3">
          {side ? <SideBySide hunks={hunks} /> : <DiffView all={hunks} />}
        </div>
      ) : null}
    </div>
  );
}

/** The text of a version; null where none is kept, undefined until it is loaded. */
function useText(watch: string, page: string, version: PageVersionDetail): string | null | undefined {
  const { data } = useQuery({
    queryKey: queryKeys.pageVersion(version.id),
    queryFn: ({ signal }) =>
      ask("/api/watches/{watch_id}/pages/{page_id}/versions/{version_id}", {
        params: { watch_id: watch, page_id: page, version_id: version.id },
        signal,
      }),
    enabled: version.has_text,
    staleTime: Infinity,
  });
  return version.has_text ? data?.text : null;
}

/** The old text on the left, the new one on the right; changed parts stand beside each other. */
function SideBySide({ hunks }: { hunks: readonly DiffHunk[] }) {
  return (
    <div className="grid grid-cols-2 gap-x-4">
      {hunks.map((hunk, index) => {
        if (!hunk.changed) {
          const lines = hunk.lines.length > 6 ? [...hunk.lines.slice(0, 2), "…", ...hunk.lines.slice(-2)] : hunk.lines;
          const text = lines.join("\n");
          return [0, 1].map((column) => (
            <p key={`${index} ${column}`} className="min-w-0 break-words whitespace-pre-wrap text-muted">
              {text}
            </p>
          ));
        }
        return (["came", "gone"] as const).map((hidden) => (
          <p key={`${index} ${hidden}`} className="min-w-0 break-words whitespace-pre-wrap">
            {hunk.pieces
              .filter((piece) => piece.fate !== hidden)
              .map((piece, place) => (
                <DiffText key={place} {...piece} />
              ))}
          </p>
        ));
      })}
    </div>
  );
}
